"""Losses: cases.py says how a case is written."""
import torch
import torch.nn.functional as F

from cases import Cases, fixed

cases = Cases()
ms = "com.microsoft"

for reduction in ("mean", "sum", "none"):
    for shape in ((7, 5), (130,)):
        a = {"reduction": reduction}
        x, t = cases.floats(*shape, low=-3, high=3), cases.floats(*shape, low=0, high=1)
        pair, probabilities = {"x": x, "target": fixed(t)}, {"x": x / 6.5 + 0.5, "target": fixed(t)}
        cases.add("MSELoss", pair, lambda x, t: F.mse_loss(x, t, reduction=reduction), a, domain=ms)
        cases.add("L1Loss", pair, lambda x, t: F.l1_loss(x, t, reduction=reduction), a, domain=ms)
        cases.add("HuberLoss", pair, lambda x, t: F.huber_loss(x, t, reduction=reduction, delta=0.8),
                  {**a, "delta": 0.8}, domain=ms)
        cases.add("BCELoss", probabilities, lambda x, t: F.binary_cross_entropy(x, t, reduction=reduction), a, domain=ms)
        cases.add("BCEWithLogitsLoss", pair, domain=ms, attributes=a,
                  function=lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction=reduction))

    # Class labels: every rank, weights, a class or an outside number that is ignored.
    for shape, ignore in (((6, 5), None), ((3, 4, 7), 2), ((2, 3, 4, 5), -100)):
        labels = cases.integers(shape[0], *shape[2:], high=shape[1])
        if ignore == -100:
            labels[0, 0] = -100
        a = {"reduction": reduction} if ignore is None else {"reduction": reduction, "ignore_index": ignore}
        k = {"reduction": reduction, "ignore_index": -7 if ignore is None else ignore}
        x, w = cases.floats(*shape, low=-3, high=3), cases.floats(shape[1], low=0.2, high=2)
        scores = {"scores": x, "labels": labels}
        weighted = {**scores, "weights": fixed(w)}
        cases.add("SoftmaxCrossEntropyLoss", scores, lambda x, t: (F.cross_entropy(x, t, **k), F.log_softmax(x, 1)), a)
        cases.add("SoftmaxCrossEntropyLoss", weighted, lambda x, t, w: F.cross_entropy(x, t, w, **k), a)
        cases.add("SoftmaxCrossEntropyLossInternal", weighted, domain=ms, attributes={"reduction": reduction},
                  outputs=["loss", "log_prob"],
                  function=lambda x, t, w: (F.cross_entropy(x, t, w, reduction=reduction), F.log_softmax(x, 1)))
        cases.add("NegativeLogLikelihoodLoss", scores, lambda x, t: F.nll_loss(x, t, **k), a)
        cases.add("NegativeLogLikelihoodLoss", weighted, lambda x, t, w: F.nll_loss(x, t, w, **k), a)

cases.write()
