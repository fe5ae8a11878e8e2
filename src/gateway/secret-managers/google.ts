import { readFileSync } from 'node:fs'
import { ProviderAuthError } from '../../catalog/provider-auth/scheme.ts'
import { fetchServiceAccountToken } from '../../catalog/provider-auth/service-account.ts'
import type { Environment } from '../../config.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, asString } from '../../platform/json/json-values.ts'
import { parseAddress, requestJson, SecretError, type SecretManager } from './secret-manager.ts'

const name = 'Google Secret Manager'
const pathPattern = /^projects\/[^/]+\/(?:locations\/([a-z0-9-]+)\/)?secrets\/[^/]+(\/versions\/[^/]+)?$/
const tokenPath = '/computeMetadata/v1/instance/service-accounts/default/token'

/** Google Secret Manager. The path is that of a secret, or of one of its versions; without one, it is the latest. */
export const googleSecretManager: SecretManager = {
  prefix: 'gcp-sm',
  read: readSecret,
}

async function readSecret(path: string, environment: Environment): Promise<string> {
  const [isPath, location, version] = pathPattern.exec(path) ?? []
  if (!isPath) throw new SecretError('the reference must be gcp-sm:projects/<project>/secrets/<secret>.')
  const chosen = environment.CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER
  const host = location ? `secretmanager.${location}.rep.googleapis.com` : 'secretmanager.googleapis.com'
  const url = chosen
    ? parseAddress('CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER', chosen)
    : new URL(`https://${host}/`)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/v1/${path}${version ? '' : '/versions/latest'}:access`
  const reply = await requestJson(name, {
    url,
    method: 'GET',
    headers: { authorization: `Bearer ${await fetchToken(environment)}` },
    isChosen: Boolean(chosen),
  })
  const data = asString(asObject(reply.payload)?.data)
  if (data === undefined) throw new SecretError(`${name} returned no value.`)
  return Buffer.from(data, 'base64').toString()
}

/** The token of a service account, or of the machine this runs on. */
async function fetchToken(environment: Environment): Promise<string> {
  const account = environment.GOOGLE_APPLICATION_CREDENTIALS
  if (account) return exchangeAccount(account)
  const host = environment.GCE_METADATA_HOST || 'metadata.google.internal'
  const reply = await requestJson('The metadata server', {
    url: parseAddress('GCE_METADATA_HOST', `http://${host}${tokenPath}`),
    method: 'GET',
    headers: { 'metadata-flavor': 'Google' },
    isChosen: true,
  })
  const token = asString(reply.access_token)
  if (!token) throw new SecretError('The metadata server returned no token.')
  return token
}

/** The content of the file, or its path. */
async function exchangeAccount(account: string): Promise<string> {
  try {
    const text = account.trimStart().startsWith('{') ? account : readFileSync(account, 'utf8')
    return await fetchServiceAccountToken(tryParseJson(text))
  } catch (error) {
    if (error instanceof ProviderAuthError) throw new SecretError(error.message)
    throw new SecretError('GOOGLE_APPLICATION_CREDENTIALS names a file that cannot be read.')
  }
}
