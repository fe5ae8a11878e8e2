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
