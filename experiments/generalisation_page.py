def render(rows): pass
