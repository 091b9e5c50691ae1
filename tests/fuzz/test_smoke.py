"""A short campaign: all parts, a fixed number of inputs each, no find."""

from __future__ import annotations

from collections import Counter

import pytest
from fuzz.campaign import Campaign
from fuzz.report import write

INPUTS = {"files": 400, "programs": 25, "faults": 4, "kills": 4}


@pytest.mark.long
def test_a_short_campaign(tmp_path):
    campaign = Campaign(5, None, 1, dict.fromkeys(INPUTS, 1.0), INPUTS)
    campaign.run()
    assert campaign.finds == []
    assert {name: tally.inputs for name, tally in campaign.tallies.items()} == INPUTS
    tried = Counter(
        key.partition("\t")[2] for tally in campaign.tallies.values() for key in tally.counts
    )
    assert set(tried) == {"accepted", "refused"}
    write(campaign, tmp_path / "report.md")
    page = (tmp_path / "report.md").read_text()
    assert "seed 5" in page
    assert "None." in page
    assert (tmp_path / "report.jsonl").read_text() == ""


@pytest.mark.long
def test_an_input_depends_on_the_seed_and_its_number_alone(tmp_path):
    from fuzz.files.seeds import TEXT_SEEDS
    from fuzz.mutation import mutated
    from fuzz.part import generator

    for index, seed in enumerate(TEXT_SEEDS):
        data = seed.files[seed.first]
        first, second = (mutated(generator(3, "files", index), data, True) for _ in range(2))
        assert first == second
