import * as conventions from '@opentelemetry/semantic-conventions/incubating'

/** Every attribute that the conventions of OpenTelemetry name, also those that are deprecated. */
const published: ReadonlySet<unknown> = new Set(
  Object.entries(conventions).flatMap(([name, value]) => (name.startsWith('ATTR_') ? [value] : [])),
)

/** Names without a convention that tracing products read; nothing else may be added. */
const productNames: ReadonlySet<string> = new Set(['gen_ai.usage.cost', 'gen_ai.usage.total_tokens'])

const governed = /^(?:gen_ai|mcp|server|client|error|http|network|jsonrpc|url|user_agent|service)\./

/** The attributes that look like those of a convention and are not. */
export function listMadeUpNames(attributes: Record<string, unknown>): string[] {
  return Object.keys(attributes).filter(
    (name) => governed.test(name) && !published.has(name) && !productNames.has(name),
  )
}

/** The well-known values of an attribute, such as `GEN_AI_PROVIDER_NAME`. */
export function listWellKnown(attribute: string): unknown[] {
  const prefix = `${attribute}_VALUE_`
  return Object.entries(conventions).flatMap(([name, value]) => (name.startsWith(prefix) ? [value] : []))
}
