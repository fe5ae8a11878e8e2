import { useRef, useState } from 'react'
import { selectRange, toggleAll } from './selection.ts'

/** The chosen rows of a table. */
export interface Selection {
  selected: ReadonlySet<string>
  /** Chooses a row or not; with `isRange`, all rows since the one that was chosen before. */
  toggle: (key: string, isRange: boolean) => void
  toggleAll: () => void
  clear: () => void
}

/** Keeps which rows are chosen. Rows that are no longer shown are not. */
export function useSelection(keys: readonly string[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const last = useRef<string | null>(null)
  const selected = new Set(keys.filter((key) => chosen.has(key)))
  return {
    selected,
    toggle: (key, isRange) => {
      setChosen(selectRange(keys, selected, { key, from: isRange ? last.current : null }))
      last.current = key
    },
    toggleAll: () => setChosen(toggleAll(keys, selected)),
    clear: () => setChosen(new Set()),
  }
}
