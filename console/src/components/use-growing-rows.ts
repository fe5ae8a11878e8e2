import { useDeferredValue } from 'react'

/** Rows that fit on a screen. */
const firstRows = 20

/** The first rows at once and the rest once they are shown, as the cells of a hundred take long. */
export function useGrowingRows<Row>(rows: readonly Row[]): readonly Row[] {
  const isGrown = useDeferredValue(true, false)
  return isGrown ? rows : rows.slice(0, firstRows)
}
