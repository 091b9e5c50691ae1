"""Work on several cores, with the same result for any number of them."""
