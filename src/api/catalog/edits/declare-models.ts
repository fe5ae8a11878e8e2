import type { AuditedRequest } from '../../../access/transact.ts'
import { declaredModel } from '../../../catalog/declared-model.ts'
import type { ListedModel } from '../../../catalog/discovery/listed-model.ts'
import type { ProviderOverride } from '../../../catalog/override-schema.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { type NewOverride, putOverrides } from './overrides.ts'
import { newProviderOverride } from './provider-override.ts'

interface Chosen {
  provider?: ProviderOverride | undefined
  models: { upstream_model: string; id?: string | undefined; pricing?: ListedModel['pricing'] }[]
}

/** Declares chosen models in one transaction, the provider first. Returns their ids. */
export async function declareModels(
  request: AuditedRequest,
  slug: string,
  { provider, models }: Chosen,
  listed: readonly ListedModel[],
): Promise<{ upstream_model: string; id: string }[]> {
  const { gateway } = request
  const byName = new Map(listed.map((model) => [model.id, model]))
  const ids = models.map(({ upstream_model, id }, at) => parseId(id ?? suggestId(slug, upstream_model), at))
  const overrides = models.map((model, at) => {
    const id = ids[at] ?? ''
    const isKnown = gateway.catalog.bySlug.get(id)?.id === id
    return toOverride(
      slug,
      id,
      { ...byName.get(model.upstream_model), ...model, id: model.upstream_model },
      isKnown,
    )
  })
  rejectRepeated(ids)
  await putOverrides(request, [
    ...(provider ? [newProviderOverride(gateway, slug, provider)] : []),
    ...overrides,
  ])
  return models.map(({ upstream_model }, at) => ({ upstream_model, id: ids[at] ?? '' }))
}

/** `author/name` stays; a colon would begin the suffix of a variant. */
function suggestId(slug: string, upstream: string): string {
  const name = upstream.replaceAll(/[^\w./-]/g, '-')
  return /^[^/]+\/[^/]+$/.test(name) ? name : `${slug}/${name.replaceAll('/', '-')}`
}

function parseId(id: string, at: number): string {
  const result = declaredModel.shape.id.safeParse(id)
  if (result.success) return result.data
  throw invalidFieldError(`models.${at}.id`, result.error.issues[0]?.message ?? 'is not valid')
}

function rejectRepeated(ids: readonly string[]): void {
  const repeated = ids.findIndex((id, at) => ids.indexOf(id) !== at)
  if (repeated >= 0) throw invalidFieldError(`models.${repeated}.id`, `"${ids[repeated]}" is declared twice`)
}

function toOverride(slug: string, id: string, listed: ListedModel, isKnown: boolean): NewOverride {
  const { name, context_length, input_modalities, output_modalities, ...rest } = listed
  const { id: upstream_model, max_completion_tokens, pricing, dialects } = rest
  const endpoint = {
    upstream_model,
    ...(max_completion_tokens !== undefined && { max_completion_tokens }),
    ...(pricing && { pricing }),
    ...(dialects && { dialects }),
  }
  const limits = context_length === undefined ? {} : { context_length }
  const fields = isKnown
    ? { ...endpoint, ...limits }
    : {
        name: name ?? upstream_model,
        ...limits,
        ...(input_modalities && { input_modalities }),
        ...(output_modalities && { output_modalities }),
        endpoints: [{ provider: slug, ...endpoint }],
      }
  const key = isKnown ? { kind: 'endpoint' as const, tag: slug } : { kind: 'model' as const, tag: '' }
  return {
    name: { ...key, name: id },
    build: () => ({ fields: JSON.stringify(fields), sealed_secrets: null }),
  }
}
