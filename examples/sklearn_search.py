"""Tune a support vector machine through scikit-learn's interface, with nested cross-validation.

Needs: pip install 'bktf[sklearn]'
Run: python examples/sklearn_search.py
"""

from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import bktf
from bktf.integrations.sklearn import BKTFSearchCV


def main() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    space = {
        "svc__C": loguniform(1e-2, 1e3),
        "svc__gamma": loguniform(1e-5, 1e1),
        "svc__kernel": bktf.choices("rbf", "sigmoid"),
    }
    search = BKTFSearchCV(
        make_pipeline(StandardScaler(), SVC()), space, n_iter=20, cv=3, random_state=0
    )
    search.fit(X, y)
    accuracy = f"{search.best_score_:.4f} with {search.best_params_}"
    print(f"best accuracy in 3-fold cross-validation: {accuracy}")
    search.set_params(n_iter=10)
    print(f"nested cross-validation, 3 outer folds: {cross_val_score(search, X, y, cv=3).round(4)}")


if __name__ == "__main__":
    main()
