import type { Schemas } from '../../api/client.ts'
import { formatShare } from '../../format/number.ts'

type BuiltinFilter = Schemas['BuiltinFilter']

/** What a filter finds in public texts, in one line: sets that it was not developed with say the most. */
export function describeAccuracy(filter: BuiltinFilter | undefined): string {
  if (!filter) return ''
  const [best] = filter.accuracy
    .filter(({ recall }) => recall !== null)
    .toSorted((a, b) => Number(a.developed_with) - Number(b.developed_with) || b.marks - a.marks)
  if (!best || best.recall === null) return 'Not measured on public texts.'
  const others = best.developed_with ? '; less in other texts' : ''
  return `Finds ${formatShare(best.recall)} of ${best.marks} in ${best.set}${others}.`
}
