import type { Schemas } from '../../api/client.ts'

type DeclaredEndpoint = Schemas['DeclaredEndpoint']

/** `provider` or `provider/variant`: what requests select an endpoint by. */
export function tagOf({ provider, variant, service_tier }: DeclaredEndpoint): string {
  const last = variant ?? service_tier
  return last ? `${provider}/${last}` : provider
}

export function endpointOfTag(
  model: { endpoints: DeclaredEndpoint[] } | null,
  tag: string,
): DeclaredEndpoint | null {
  return model?.endpoints.find((endpoint) => tagOf(endpoint) === tag) ?? null
}

/** The endpoint without its edit: as the edit of the model declares it, or as it is without any. */
export function endpointWithoutEdit(
  { edit, endpoint_edits, base, in_force }: Schemas['CatalogueModel'],
  tag: string,
): DeclaredEndpoint | null {
  if (!endpoint_edits.some((one) => one.tag === tag)) return endpointOfTag(in_force, tag)
  const endpoints = edit?.fields?.endpoints
  return endpointOfTag(endpoints ? { endpoints } : base, tag)
}
