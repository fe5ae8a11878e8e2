import { invalidFieldError } from '../errors/gateway-error.ts'
import { parseRequestUrl } from '../lib/request-url.ts'

/** Joins the name of a deployment whose slash was not escaped. */
export function joinDeployment({
  deployment,
  author,
  ...params
}: Record<string, string>): Record<string, string> {
  if (deployment === undefined) return author === undefined ? params : { ...params, author }
  return { ...params, deployment: author === undefined ? deployment : `${author}/${deployment}` }
}

/** The router decodes invalid percent-encoding as U+FFFD; a database cannot store U+0000. */
export function validateParameters(values: Record<string, string>): Record<string, string> {
  for (const [name, value] of Object.entries(values)) {
    if (/[\0\uFFFD]/.test(value)) throw invalidFieldError(name, 'is not valid percent-encoded UTF-8')
  }
  return values
}

/**
 * A repeated parameter is rejected: validation and handler could read different values. Only a list in brackets may
 * repeat: `include[]=a&include[]=b` is read as `include=a,b`.
 */
export function parseQuery(request: Request): Record<string, string> {
  const { searchParams } = parseRequestUrl(request)
  // Azure clients send it with every request; this API has one version.
  searchParams.delete('api-version')
  const query = new Map<string, string>()
  for (const parameter of new Set(searchParams.keys())) {
    const isList = parameter.endsWith('[]')
    const name = isList ? parameter.slice(0, -2) : parameter
    const values = searchParams.getAll(parameter)
    if (query.has(name) || (values.length > 1 && !isList))
      throw invalidFieldError(name, 'is repeated; send it once')
    query.set(name, values.join(','))
  }
  return Object.fromEntries(query)
}
