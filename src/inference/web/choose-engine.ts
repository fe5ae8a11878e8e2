import type { ByokKey } from '../../catalog/byok-keys.ts'
import type { SearchEngine } from '../../formats/schema/search-engine.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { type AccessContext, type EngineAccess, findDefaultEngine, listAccesses } from './access.ts'
import { findSearchEngine, searchEngines } from './engines/all.ts'

export interface EngineRequester {
  byokKeys: readonly ByokKey[]
  /** The canonical slug of the model that the search is for. */
  model: string | null
}

export interface ChosenEngine {
  engine: SearchEngine
  accesses: EngineAccess[]
}

const remedy = 'set it in web.engines of headgate.yaml, or store a BYOK key'

/** The named engine, or the default one. Errors are 400 and name the field. */
export function chooseEngine(
  context: AccessContext,
  id: string | undefined,
  { byokKeys, model }: EngineRequester,
  field: string,
): ChosenEngine {
  const engine = id === undefined ? findDefaultEngine(context, byokKeys, model) : requireEngine(id, field)
  if (!engine) throw invalidFieldError(field, `no search engine has a key on this server: ${remedy}`)
  const accesses = listAccesses(context, engine, byokKeys, model)
  if (engine.api.kind === 'http' && accesses.length === 0)
    throw invalidFieldError(field, `the engine ${engine.id} has no key on this server: ${remedy}`)
  return { engine, accesses }
}

/** Finds an engine. Errors are 400 and name the field. */
export function requireEngine(id: string, field: string): SearchEngine {
  const engine = findSearchEngine(id)
  if (engine) return engine
  const known = ['auto', 'native', ...searchEngines.map((known) => known.id)]
  throw invalidFieldError(field, `must be one of ${known.join(', ')}`)
}
