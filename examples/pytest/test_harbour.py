"""Tests that find an empty server each."""

MAPS = "/api/v1/namespaces/default/configmaps"


def make(name, berth):
    return {"metadata": {"name": name}, "data": {"berth": berth}}


def test_objects_are_created_and_read(kube):
    code, _ = kube.call("POST", MAPS, make("ketch", "A7"))
    assert code == 201
    code, ketch = kube.call("GET", MAPS + "/ketch")
    assert (code, ketch["data"]) == (200, {"berth": "A7"})


def test_nothing_of_another_test_is_left(kube):
    code, status = kube.call("GET", MAPS + "/ketch")
    assert (code, status["reason"]) == (404, "NotFound")


def test_a_conflict_is_answered_with_its_reason(kube):
    kube.call("POST", MAPS, make("ketch", "A7"))
    code, status = kube.call("POST", MAPS, make("ketch", "B2"))
    assert (code, status["reason"]) == (409, "AlreadyExists")


def test_a_request_that_fails_can_be_sent_again(kube):
    kube.fail_next({"verb": "create", "resource": "configmaps"}, {"answer": 500})
    assert kube.call("POST", MAPS, make("ketch", "A7"))[0] == 500
    assert kube.call("POST", MAPS, make("ketch", "A7"))[0] == 201
