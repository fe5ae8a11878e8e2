import type { Environment } from '../../config.ts'
import { EgressError, type EgressRequest, sendBuffered } from '../../platform/http/egress-client.ts'
import { formatHostAndPort } from '../../platform/http/egress-policy.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'

/** A secret cannot be read. The message has nothing of a secret, and continues a sentence about its variable. */
export class SecretError extends Error {}

/** Where secrets are stored. A value such as `vault:path#field` refers to one of its secrets. */
export interface SecretManager {
  /** What a reference begins with, up to the colon. */
  prefix: string
  /** A text, or fields. */
  read(path: string, environment: Environment): Promise<string | JsonObject>
}

/** Milliseconds for one request. */
const timeoutMs = 10_000
const maxBytes = 256 * 1024

interface ManagerRequest extends Omit<EgressRequest, 'url'> {
  url: URL
  /** Whether the operator chose the address, which may then be private and plain http. */
  isChosen: boolean
  /** Certificates to trust instead of the system's, in PEM. */
  ca?: string | undefined
}

/** Sends a request to a secret manager, and returns the JSON object of its response. `name` is for messages. */
export async function requestJson(
  name: string,
  { url, isChosen, ca, ...request }: ManagerRequest,
): Promise<JsonObject> {
  const allowPrivate = isChosen ? [formatHostAndPort(url)] : []
  const response = await sendBuffered(
    { ...request, url: url.href },
    { allowPrivate, timeoutMs, maxBytes, ...(ca !== undefined && { ca }) },
  ).catch((error: unknown) => {
    if (error instanceof EgressError) throw new SecretError(`${name} cannot be used: ${error.message}`)
    throw error
  })
  if (response.status !== 200) throw new SecretError(`${name} responded with ${response.status}.`)
  const body = asObject(tryParseJson(new TextDecoder().decode(response.bytes)))
  if (!body) throw new SecretError(`${name} responded with something else than a JSON object.`)
  return body
}

/** The address that a variable has. The value is not in the message: a secret may be set there by mistake. */
export function parseAddress(name: string, text: string): URL {
  const url = URL.parse(text)
  if (url && /^https?:$/.test(url.protocol)) return url
  throw new SecretError(`${name} must be a URL that starts with https:// or http://.`)
}

/** A variable that the manager needs. */
export function requireVariable(environment: Environment, name: string): string {
  const value = environment[name]
  if (value) return value
  throw new SecretError(`${name} is not set.`)
}
