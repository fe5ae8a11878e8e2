import type { Model } from '../../../catalog/model.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { shareResult } from '../../../http/shared-body.ts'

/** A list is up to a megabyte. */
const maxLists = 16

/** Inputs of model records, and the lists built from them. */
interface Source {
  benchmarks: object
  lists: Map<string, object>
}

const sources = new WeakMap<readonly Model[], Source>()

/**
 * The result that was built before for the same query and the same models: to encode hundreds of records takes
 * milliseconds, and clients ask for all of them often.
 */
export function reuseList<T extends object>(
  { catalog, benchmarks }: Gateway,
  query: string,
  models: readonly Model[],
  build: () => T,
): T {
  const source = findSource(catalog.models, benchmarks.current)
  const key = `${query}\n${models.map(({ id }) => id).join('\n')}`
  const known = source.lists.get(key)
  if (known) return known as T
  const list = shareResult(build())
  const [oldest] = source.lists.keys()
  if (source.lists.size >= maxLists && oldest !== undefined) source.lists.delete(oldest)
  source.lists.set(key, list)
  return list
}

function findSource(models: readonly Model[], benchmarks: object): Source {
  const known = sources.get(models)
  if (known?.benchmarks === benchmarks) return known
  const source = { benchmarks, lists: new Map<string, object>() }
  sources.set(models, source)
  return source
}
