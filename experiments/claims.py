"""The papers' claims beside our data: the table of docs/results/index.md.

python experiments/claims.py        # renders the table from the numbers in docs/results

A verdict is computed, never written by hand: a claim says which values it allows, the data give
an interval (95 %), and the claim is confirmed where the interval is within these values, refuted
where it is outside, and undecided where it is neither, or where there is no interval.
"""

from __future__ import annotations

import json
from pathlib import Path

import claims_data as data
from claims_verdicts import CONFIRMED, REFUTED, UNDECIDED, Claim, Numbers
from result_pages import with_tables

RESULTS = Path(__file__).parents[1] / "docs" / "results"
PAGE = RESULTS / "index.md"
G13, G11 = "Galley et al. 2013", "Galley and Quirk 2011"
C12, N12, N13 = "Chiang 2012", "Nakov et al. 2012", "Nakov et al. 2013"
REGULARISED, LP = "regularized-mert", "lp-mert"
FOREST, HOPE = "forest-search", "hope-and-fear"
LENGTH, MONSTERS = "pro-length", "pro-monsters"
PRIORS = "regularized_mert.py --quick --parts priors"

CLAIMS = (
    Claim(
        G13,
        "section 6",
        "This direction finder not only recovers w* (cosine > 0.999) even with 1000 dimensions",
        "cosine over 0.999",
        REGULARISED,
        "regularized_mert.py --parts synthetic",
        data.gradient_finds,
        "With conjugate gradient steps, which the paper has not.",
    ),
    Claim(
        G13,
        "section 6, Table 2",
        "adding a large set of more than 200 features causes MERT to perform poorly, particularly "
        "on the test set",
        "below 0",
        REGULARISED,
        "regularized_mert.py --quick --parts real --seeds 1,2,3",
        data.large_is_poor,
    ),
    Claim(
        G13,
        "section 6, Table 2",
        "Regularized MERT (v1) provides an increase in the order of 0.5 BLEU on the test set "
        "compared to the best results with unregularized MERT",
        "above 0",
        REGULARISED,
        PRIORS,
        data.v1_gains,
        "The paper's prior is from MERT. 500 sentences are too few.",
    ),
    Claim(
        G13,
        "section 8, Tables 2 and 3",
        "our best results are comparable to PRO and not significantly better",
        "within 0.5",
        REGULARISED,
        PRIORS,
        data.like_pro,
        "The paper's prior is from MERT. Towards PRO it is PRO.",
    ),
    Claim(
        G11,
        "section 5, Figure 5",
        "LP-MERT never underperforms 1D-MERT in any of the 3,000 experiments",
        "at most 1 %",
        LP,
        "lp_mert.py --quick --parts figure5",
        data.never_worse,
    ),
    Claim(
        G11,
        "section 5",
        "For S = 4, it makes search errors in 90% of the cases, despite using 20 random starting "
        "points",
        "over half",
        LP,
        "lp_mert.py --quick --parts figure5",
        data.search_errors,
        "Most, but fewer than the paper's 90 %.",
    ),
    Claim(
        G11,
        "section 5, Table 2",
        "gains of 0.5 BLEU point or more in all cases where S ≤ 512",
        "all runs",
        LP,
        "lp_mert.py --quick --parts table2 --sizes 32,128,512,1024",
        data.beam_gains,
        "Every run gains, most less; our MERT also walks.",
    ),
    Claim(
        G11,
        "section 5, Figure 7",
        "we can scale to 1000 sentences when (exactly) searching within the region defined by "
        "cos(w0, ŵ) ≥ .84",
        "1,000 sentences",
        LP,
        "lp_mert.py --quick --parts figure7",
        data.cosine_scales,
        "5 seconds a search here, up to 10,000 in the paper: no interval.",
    ),
    Claim(
        C12,
        "section 5, Figure 1",
        "this approximation can be quite poor in practice, because the n-best list covers such a "
        "small portion of the entire search space",
        "over half",
        FOREST,
        "forest_search.py --quick --parts fear",
        data.forests_have_more,
        "It depends on the size of the weights; end results of lists and forests are level.",
    ),
    Claim(
        C12,
        "Figure 3a",
        "Linear BLEU performs as well as or slightly better than forest reranking",
        "above −0.5",
        FOREST,
        "forest_search.py --quick --parts searches",
        data.linear_is_as_good,
        "As well, not better.",
    ),
    Claim(
        C12,
        "Figure 3b",
        "More negative values of the loss weight µ for hope derivations lead to higher initial "
        "performance, whereas less negative loss weights lead to higher final performance",
        "above 0",
        FOREST,
        "forest_search.py --quick --parts mu",
        data.loss_weights,
        "Three seeds do not tell the ends apart.",
    ),
    Claim(
        C12,
        "Figure 4",
        "On the small model, asynchronous MIRA does not perform well compared to iterative "
        "parameter mixing. But on the large model, asynchronous MIRA strongly outperforms "
        "iterative parameter mixing",
        "large: above 0.5; small: below 0",
        HOPE,
        "hope_and_fear.py --quick --parts seeds,rates",
        data.asynchronous_wins,
        "At η = 0.01 for both, as in the paper; with a rate for each the gap is small.",
    ),
    Claim(
        C12,
        "section 7, Figure 5",
        "at each epoch, the curves with greater p actually tend to outperform the curves with "
        "lower p",
        "above 0",
        HOPE,
        "hope_and_fear.py --quick --parts seeds,rates",
        data.more_learners,
        "400 sentences are few for 20 learners.",
    ),
    Claim(
        C12,
        "section 8, Table 1",
        "we found that MIRA does better than SGD, and AROW, better still",
        "above 0",
        HOPE,
        "hope_and_fear.py --quick --parts ordering",
        data.order_of_learners,
        "Seeds differ more than the learners, all with the paper's rate.",
    ),
    Claim(
        C12,
        "section 7, Table 1",
        "In total, the improvement over MERT on the test set is 2.4 BLEU",
        "at least half of it",
        HOPE,
        "hope_and_fear.py --quick --parts table1,ordering",
        data.lexical_features,
        "On 400 tuning sentences, where the paper has 3,011; MERT's is one run.",
    ),
    Claim(
        N12,
        "sections 4.3.3 and 5, Table 4",
        "optimizing for sentence-level BLEU+1 yields short translations, regardless of the "
        "optimizer that is being used",
        "ratio on Tune below 1",
        LENGTH,
        "pro_length.py --quick --tables 4",
        data.short_whatever,
    ),
    Claim(
        N12,
        "abstract, Table 4",
        "letting PRO optimize a corpus-level BLEU yields a perfect length",
        "0.99 to 1.01",
        LENGTH,
        "pro_length.py --quick --tables 4",
        data.corpus_is_perfect,
        "On fixed lists; with Thot in the loop 0.946 (one seed).",
    ),
    Claim(
        N12,
        "section 5",
        "we would recommend trying different fixes and choosing the one for which the length "
        "ratio is closest to 1 on the tuning dataset",
        "above 0",
        LENGTH,
        "pro_length.py --quick --tables 2,3",
        data.advice_gains,
        "Choosing on Dev gains as much or more.",
    ),
    Claim(
        N13,
        "section 1",
        "tuning on the longer 50% of the tuning sentences had a disastrous effect on PRO, causing "
        "an absolute drop of three BLEU points on testing",
        "at least half of it",
        MONSTERS,
        "pro_monsters.py --quick --parts tables,pools",
        data.monsters_cost,
        "A pool of partly made-up candidates. With our own decoder on news plain PRO runs away "
        "where nothing is interpolated (one seed), but its negatives are no monsters "
        "([page](pro-live.md)).",
    ),
    Claim(
        N13,
        "section 6",
        "The best of these fixes have not only slayed the monsters, but have also brought much "
        "higher stability to PRO as well as improved test-time BLEU scores",
        "at most 5 % of the rounds; above 0",
        MONSTERS,
        "pro_monsters.py --quick --parts tables,pools",
        data.fixes_slay,
        "A length cut-off locks monsters in where a round reveals nothing else.",
    ),
)


def read_numbers() -> Numbers:
    """Return the numbers of all pages, by page."""
    return {file.stem: json.loads(file.read_text()) for file in sorted(RESULTS.glob("*.json"))}


def table(numbers: Numbers) -> str:
    """Return the table of all claims, and how many are settled."""
    lines = [
        "| the paper | counts as the claim | our data (95 % interval) | verdict | made by |",
        "|---|---|---|---|---|",
        *(claim.row(numbers) for claim in CLAIMS),
        "",
        counted(numbers),
    ]
    return "\n".join(lines)


def counted(numbers: Numbers) -> str:
    """Return a sentence that counts the verdicts."""
    sets = [{one.verdict for one in claim.find(numbers)} or {UNDECIDED} for claim in CLAIMS]
    whole = {v: sum(found == {v} for found in sets) for v in (CONFIRMED, REFUTED, UNDECIDED)}
    mixed = sum(len(found) > 1 for found in sets)
    told = ", ".join(f"{count} {verdict}" for verdict, count in whole.items())
    return f"Of {len(CLAIMS)} claims: {told}, {mixed} with parts that differ."


def main() -> None:
    """Put the table into the page."""
    PAGE.write_text(with_tables(PAGE.read_text(), "all", {"claims": table(read_numbers())}))


if __name__ == "__main__":
    main()
