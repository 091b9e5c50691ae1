"""The page of a run: what is known of it, what is shown of that, and the page itself.

A run is read into a :class:`~tunesmith.report.page.run.record.RunRecord`; sections turn that into a
:class:`~tunesmith.report.page.view.View`, which is JSON; the page and the figures are drawn from
the view only.

``assemble`` makes the view of a record, ``html`` the page, ``serve`` the live one.
"""
