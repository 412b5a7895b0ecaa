"""Operations as DataFrames of a Spark that is already there."""
