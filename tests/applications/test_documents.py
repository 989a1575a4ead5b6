"""Documents of generated topics: the words, the misfits and the outliers are known."""

import numpy as np
import pytest
from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from allegiance import trust
from allegiance.applications import Documents

TOPICS = {"sea": "wave tide harbour sail anchor reef", "kitchen": "oven dough butter knead whisk salt",
          "garden": "seed soil prune bloom hedge weed"}  # fmt: skip
COMMON = ["the", "day", "was", "long", "we", "went", "there", "and", "came", "back", "with"]


def sentence(rng, topic, n_words=8):
    own = TOPICS[topic].split()
    return " ".join([*rng.choice(COMMON, 6), *rng.choice(own, n_words)])


def collection(seed=0):
    """120 documents; the first is about the sea but filed under kitchen, the last two are outliers."""
    rng = np.random.default_rng(seed)
    topics = np.repeat(list(TOPICS), 40)
    texts = [sentence(rng, topic) for topic in topics]
    labels = topics.astype(object)
    labels[0] = "kitchen"
    labels[118], labels[119] = "-1", "-1"
    texts[119] = " ".join(rng.choice(COMMON, 14))
    return texts, labels.astype(str)


@pytest.fixture(scope="module")
def documents():
    texts, labels = collection()
    vectors = TfidfVectorizer().fit_transform(texts).toarray()
    return Documents(trust(vectors, labels, influence="cosine"), texts, prior=50.0)


def test_words_for_the_rival_come_from_the_rival(documents):
    result = documents.result
    assert (result.label[0], result.rival[0]) == ("kitchen", "sea")
    found = documents.words_for_rival(0, 3)
    assert set(found.words) <= set(TOPICS["sea"].split())
    assert set(found.words) <= set(documents.texts[0].split())
    assert (np.diff(found.scores) <= 0).all()


def test_a_document_that_belongs_has_no_word_for_its_rival(documents):
    assert documents.words_for_rival(50).words == []


def test_scores_are_those_of_the_formula(documents):
    """Log-odds with an informative prior, written out for one word of one document."""
    word = documents.words_for_rival(0, 1).words[0]
    vectorizer = CountVectorizer().fit(documents.texts)
    counts, column = vectorizer.transform(documents.texts).toarray(), vectorizer.vocabulary_[word]
    label, everything = documents.result.label, counts.sum()
    prior = 50.0 * counts[:, column].sum() / everything
    logs, variance = [], 0.0
    for rows in (label == "sea", (label == "kitchen") & (np.arange(120) > 0)):
        times, size = counts[rows][:, column].sum() + prior, counts[rows].sum() + 50.0
        logs.append(np.log(times / (size - times)))
        variance += 1.0 / times
    assert documents.words_for_rival(0, 1).scores[0] == pytest.approx((logs[0] - logs[1]) / np.sqrt(variance))


def test_topics_are_known_by_their_words(documents):
    table = documents.topics(3)
    assert sorted(table["topic"]) == sorted(TOPICS)
    for topic, words in zip(table["topic"], table["words"], strict=True):
        assert set(words.split(", ")) <= set(TOPICS[topic].split())
    assert table["documents"].sum() == 118


def test_misfits_are_listed_topic_by_topic(documents):
    table = documents.misfits(2)
    row = table.loc[0]
    assert (row["topic"], row["rival"], row["verdict"]) == ("kitchen", "sea", "contradicted")
    assert row["text"] == documents.texts[0]
    assert table.groupby("topic").size().max() <= 2


def test_an_outlier_about_a_topic_deserves_it(documents):
    table = documents.outliers()
    assert table.index.tolist() == [118, 119]
    assert table.loc[118, "topic"] == "garden"
    assert table.loc[118, "deserves_topic"]
    assert not table.loc[119, "deserves_topic"]
    assert set(table.loc[118, "words"].split(", ")) <= set(TOPICS["garden"].split())
    assert documents.outliers(1).index.tolist() == [118]


def test_review_shows_words_and_texts(documents):
    table = documents.result.review(3, texts=documents.texts)
    assert table.index[0] == 0
    assert list(table.columns[-2:]) == ["words", "text"]
    assert "words" not in documents.result.review(3)


def test_topics_of_scikit_learn(documents):
    """The largest share of a topic model is a label like any other; -1 may be an integer."""
    counts = CountVectorizer().fit_transform(documents.texts)
    shares = NMF(3, random_state=0, init="nndsvda").fit_transform(counts)
    topics = np.where(shares.max(axis=1) > 0.05, shares.argmax(axis=1), -1)
    table = Documents(trust(shares, topics, n_resamples=4), documents.texts).topics(2)
    assert len(table) == 3


def test_long_documents_are_cut_and_missing_ones_empty():
    texts, labels = collection()
    texts[0], texts[1] = texts[0] + " sail" * 200, None
    vectors = TfidfVectorizer().fit_transform([text or "" for text in texts]).toarray()
    documents = Documents(trust(vectors, labels, influence="cosine", n_resamples=4), texts)
    columns = documents.columns(np.array([0, 1]))
    assert 190 < len(columns["text"][0]) <= 200
    assert columns["text"][0].endswith("…")
    assert (columns["text"][1], columns["words"][1]) == ("", "")


@pytest.mark.parametrize(
    ("texts", "settings", "error", "message"),
    [
        ("a single text", {}, TypeError, "got a single"),
        (["a", "b"], {}, ValueError, "texts has 2 entries but the result has 120 points"),
        ([3, *["a"] * 119], {}, TypeError, r"texts\[0\] is 3"),
        (["a"] * 120, {}, ValueError, "texts cannot be counted by CountVectorizer.*empty vocabulary"),
        (["word"] * 120, {"prior": -1.0}, ValueError, "prior must be in"),
        (["word"] * 120, {"vectorizer": 3}, TypeError, "vectorizer must be a CountVectorizer"),
    ],
)
def test_says_what_is_wrong(documents, texts, settings, error, message):
    with pytest.raises(error, match=message):
        Documents(documents.result, texts, **settings)


def test_unknown_topic(documents):
    with pytest.raises(ValueError, match="topic must be the label of a cluster"):
        documents.words_of_topic("sky")
