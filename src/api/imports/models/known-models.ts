import { mergeDeclaredModels } from '../../../catalog/catalog.ts'
import type { DeclaredEndpoint, DeclaredModel } from '../../../catalog/declared-model.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { buildCatalogSources } from '../../../gateway/reload.ts'

/** A model of the catalog at one of its providers. */
export interface KnownModel {
  model: DeclaredModel
  endpoint: DeclaredEndpoint
}

/** The catalog without its overrides, so that a second import plans the same as the first. */
export class KnownModels {
  readonly #byUpstream = new Map<string, KnownModel>()
  readonly #ids = new Set<string>()
  readonly #names = new Map<string, string>()

  constructor(gateway: Gateway) {
    for (const { model } of mergeDeclaredModels(buildCatalogSources(gateway)).values()) {
      this.#ids.add(model.id)
      for (const name of [model.id, model.canonical_slug, ...model.aliases])
        if (name !== undefined && !this.#names.has(name)) this.#names.set(name, model.id)
      for (const endpoint of model.endpoints) {
        const key = `${endpoint.provider} ${endpoint.upstream_model}`
        // Endpoints of a service tier have other prices.
        if (endpoint.service_tier === undefined && !this.#byUpstream.has(key))
          this.#byUpstream.set(key, { model, endpoint })
      }
    }
  }

  findUpstream(provider: string, upstream: string): KnownModel | undefined {
    return this.#byUpstream.get(`${provider} ${upstream}`)
  }

  /** The id of the model that requests reach by a name. */
  resolve(name: string): string | undefined {
    return this.#ids.has(name) ? name : this.#names.get(name)
  }
}
