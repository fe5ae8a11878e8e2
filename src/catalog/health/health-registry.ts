import type { Candidate } from '../../inference/routing/candidate.ts'
import { EndpointHealth } from './health.ts'
import { byokPrefix, parseHealthId } from './health-id.ts'

/** Number of endpoints beyond which the least recently used are evicted. */
const maxEndpoints = 20_000
const maxByokEndpoints = 5000

/** A candidate, identified by the id of its health. */
type Identified = Pick<Candidate, 'id'>

/** The health of every endpoint with recent traffic, by id. */
export class HealthRegistry {
  readonly #shared = new Map<string, EndpointHealth>()
  /** Endpoints with BYOK keys, of which there can be many: they evict only one another. */
  readonly #byok = new Map<string, EndpointHealth>()
  /** Changes whenever an id is added or removed, which invalidates cached lists. */
  #version = 0
  /** Endpoints that were forgotten since `takeForgotten`. */
  #forgotten: string[] = []
  readonly #lists = new WeakMap<readonly Identified[], { version: number; list: (EndpointHealth | null)[] }>()

  /** Null for an endpoint without any attempts. */
  find(id: string): EndpointHealth | null {
    return this.#mapOf(id).get(id) ?? null
  }

  /**
   * Finds the health of each, in order. Cached for the list: looking up every id takes longer than a routing decision.
   */
  findAll(candidates: readonly Identified[]): readonly (EndpointHealth | null)[] {
    const cached = this.#lists.get(candidates)
    if (cached?.version === this.#version) return cached.list
    const list = candidates.map(({ id }) => this.find(id))
    this.#lists.set(candidates, { version: this.#version, list })
    return list
  }

  getOrCreate(id: string): EndpointHealth {
    const map = this.#mapOf(id)
    const known = map.get(id)
    const health = known ?? new EndpointHealth()
    map.delete(id)
    map.set(id, health)
    if (known) return health
    this.#version += 1
    const [idle] = map.keys()
    if (map.size > (map === this.#byok ? maxByokEndpoints : maxEndpoints) && idle !== undefined)
      map.delete(idle)
    return health
  }

  /** Every endpoint that has been ejected or in cooldown without a success since. */
  *listFailing(): Generator<{ id: string; since: number; lastAt: number }> {
    for (const map of [this.#shared, this.#byok]) {
      for (const [id, { failure }] of map) if (failure) yield { id, ...failure }
    }
  }

  /** Lists the endpoints that were used with the BYOK keys of these ids. */
  *listByok(
    keyIds: ReadonlySet<string>,
  ): Generator<{ keyId: string; endpointId: string; health: EndpointHealth }> {
    for (const [id, health] of this.#byok) {
      const { byokKeyId, endpointId } = parseHealthId(id)
      if (byokKeyId !== null && keyIds.has(byokKeyId)) yield { keyId: byokKeyId, endpointId, health }
    }
  }

  /** Must be called when the endpoint or its credential has changed. */
  forget(id: string): void {
    if (!this.#mapOf(id).delete(id)) return
    this.#version += 1
    this.#forgotten.push(id)
  }

  takeForgotten(): string[] {
    const forgotten = this.#forgotten
    this.#forgotten = []
    return forgotten
  }

  *listAll(): Generator<[id: string, health: EndpointHealth]> {
    yield* this.#shared
    yield* this.#byok
  }

  #mapOf(id: string): Map<string, EndpointHealth> {
    return id.startsWith(byokPrefix) ? this.#byok : this.#shared
  }
}
