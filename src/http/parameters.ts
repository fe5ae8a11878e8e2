import { invalidFieldError } from '../platform/errors/gateway-error.ts'
import { parseRequestUrl } from '../platform/http/request-url.ts'
import type { PathRequest } from './operation.ts'

/** The values of the `:name` segments of a path. */
export interface PathParameters {
  /** Name of the deployment in Azure paths. */
  deployment: string | undefined
  pathParams: Readonly<Record<string, string>>
}

const noParameters: PathParameters = { deployment: undefined, pathParams: {} }

/** `path` is that of the operation. */
export function readPathParameters(request: PathRequest, path: string): PathParameters {
  const { params } = request
  for (const _name in params) {
    const named = path.endsWith('/{rest}') ? { ...params, rest: readRest(request, path) } : { ...params }
    return joinDeployment(validateParameters(named))
  }
  return noParameters
}

/** The rest of the path, as it was sent. */
function readRest(request: Request, path: string): string {
  const leading = path.split('/').length - 1
  return parseRequestUrl(request).pathname.split('/').slice(leading).join('/')
}

/** Joins the name of a deployment whose slash was not escaped. */
function joinDeployment({ deployment, author, ...others }: Record<string, string>): PathParameters {
  const pathParams = author === undefined || deployment !== undefined ? others : { ...others, author }
  const joined = author === undefined || deployment === undefined ? deployment : `${author}/${deployment}`
  return { deployment: joined, pathParams }
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
