import type { FilterAction } from './draft.ts'

export const filterActions: { value: FilterAction; label: string }[] = [
  { value: 'flag', label: 'Flag' },
  { value: 'redact', label: 'Redact' },
  { value: 'block', label: 'Block' },
]

export const actionColors: Record<FilterAction, string> = { flag: 'blue', redact: 'orange', block: 'red' }

/** The action of this name, as an input gives it. */
export function readAction(value: string | null): FilterAction | undefined {
  return filterActions.find((action) => action.value === value)?.value
}
