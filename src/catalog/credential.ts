import { z } from 'zod'
import { parseJson } from '../platform/json/json.ts'
import { JsonError } from '../platform/json/json-error.ts'
import { flattenIssues } from '../platform/validation/validation-issues.ts'
import type { Provider } from './provider.ts'
import { type AuthOptions, findScheme, type SigningCredential } from './provider-auth/all.ts'
import { credentialField, printableMessage, printablePattern } from './provider-auth/credential-field.ts'
import { type ProviderSettings, settingPatterns } from './provider-settings.ts'

/** A resource that serves each model under the name of its deployment. */
export interface Resource {
  token: string
  settings: ProviderSettings
}

/** One deployment of one model, with its own address. */
export interface Deployment {
  /** Position in the credential's list, for error messages. */
  index: number
  /** The catalog's slug of the model. */
  slug: string
  url: string
  token: string
  upstreamModel: string
}

export interface Deployments {
  kind: 'deployments'
  resources: Resource[]
  deployments: Deployment[]
}

/** Authenticates and pays for requests to a provider. */
export type Credential = SigningCredential | Deployments

export const noCredential: Credential = { kind: 'none' }

/** Longer than any token; a service account is some 2 KiB. */
const maxTokenLength = 16 * 1024

const resource = z
  .strictObject({
    api_key: credentialField,
    resource_name: credentialField.regex(settingPatterns.resource, 'must be the name of a resource'),
    resource_type: credentialField
      .regex(settingPatterns.resource_type, 'must be a type such as ai_foundry')
      .optional(),
  })
  .transform(({ api_key, resource_name, resource_type }) => ({
    token: api_key,
    settings: { resource: resource_name, ...(resource_type && { resource_type }) },
  }))

const deployment = z
  .strictObject({
    model_slug: credentialField,
    endpoint_url: z.url({ protocol: /^https?$/ }),
    api_key: credentialField,
    model_id: credentialField,
  })
  .transform(({ model_slug, endpoint_url, api_key, model_id }) => ({
    slug: model_slug,
    url: endpoint_url,
    token: api_key,
    upstreamModel: model_id,
  }))

const deployments = z
  .array(
    z.union(
      [resource, deployment],
      'must have api_key and resource_name, or model_slug, endpoint_url, api_key and model_id, and no other field but resource_type',
    ),
  )
  .min(1)
  .max(100)
  .transform(
    (entries): Deployments => ({
      kind: 'deployments',
      resources: entries.filter((entry) => 'settings' in entry),
      deployments: entries.flatMap((entry, index) => ('slug' in entry ? [{ index, ...entry }] : [])),
    }),
  )

/** The form of a credential in JSON: that of an auth scheme, or a list of resources and deployments. */
export type CredentialForm = AuthOptions['scheme'] | Deployments['kind']

/** The form of credential that a provider accepts besides a token. */
export function credentialFormOf({
  auth,
  acceptsDeployments,
}: Pick<Provider, 'auth' | 'acceptsDeployments'>): CredentialForm | undefined {
  return acceptsDeployments ? 'deployments' : auth?.scheme
}

/** The message names a field, never its value. */
export class CredentialError extends Error {
  readonly path: (string | number)[]

  constructor(path: (string | number)[], message: string) {
    super(message)
    this.path = path
  }
}

/** Parses a stored BYOK credential, or an environment variable. */
export function parseCredential(text: string, form: CredentialForm | undefined): Credential {
  if (form && /^[[{]/.test(text)) return parseCredentialObject(parseCredentialJson(text), form)
  if (text.length > maxTokenLength)
    throw new CredentialError([], `must have at most ${maxTokenLength} characters`)
  if (!printablePattern.test(text)) throw new CredentialError([], printableMessage)
  return { kind: 'token', token: text }
}

/** Parses `credentials` of headgate.yaml. */
export function parseCredentialObject(value: unknown, form: CredentialForm): Credential {
  const result = schemaOf(form).safeParse(value)
  if (result.success) return result.data
  const [first] = flattenIssues(result.error)
  throw new CredentialError(first?.path ?? [], first?.message ?? 'is not valid')
}

function schemaOf(form: CredentialForm): z.ZodType<Credential> {
  const schema = form === 'deployments' ? deployments : findScheme(form).format?.schema
  return schema ?? z.never()
}

function parseCredentialJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof JsonError) throw new CredentialError([], `starts like JSON and is ${error.message}`)
    throw error
  }
}

/** The provider settings that a credential itself implies. */
export function settingsOf(credential: Credential): ProviderSettings {
  if (credential.kind === 'deployments') return {}
  return findScheme(credential.kind).format?.settingsOf(credential) ?? {}
}

/** The parts that must never be shown or logged. */
export function listSecrets(credential: Credential): string[] {
  if (credential.kind === 'deployments') return listTokens(credential)
  return findScheme(credential.kind).listSecrets(credential)
}

/** The part that people recognize a credential by; it is shown masked. */
export function identifierOf(credential: Credential): string {
  if (credential.kind === 'deployments') return listTokens(credential)[0] ?? ''
  return findScheme(credential.kind).identifierOf(credential)
}

function listTokens({ resources, deployments }: Deployments): string[] {
  return [...resources, ...deployments].map(({ token }) => token)
}
