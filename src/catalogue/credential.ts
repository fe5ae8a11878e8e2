import { z } from 'zod'
import { parseJson } from '../lib/json.ts'
import { JsonError } from '../lib/json-error.ts'
import { flattenIssues } from '../lib/validation-issues.ts'
import { type ProviderSettings, settingPatterns } from './provider-settings.ts'

export interface Token {
  kind: 'token'
  token: string
}

export interface AccessKey {
  kind: 'access-key'
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string | undefined
  region: string
}

export interface ServiceAccount {
  kind: 'service-account'
  clientEmail: string
  privateKey: string
  privateKeyId?: string | undefined
  project: string
  region?: string | undefined
}

/** A resource that serves every model under the name of its deployment. */
export interface Resource {
  token: string
  settings: ProviderSettings
}

/** One deployment of one model, at an address of its own. */
export interface Deployment {
  /** In the list that it came in. */
  index: number
  /** The model it is for, by a slug of the catalogue. */
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

/** What a request is signed with. */
export type SigningCredential = { kind: 'none' } | Token | AccessKey | ServiceAccount

/** What a provider is paid with, read. */
export type Credential = SigningCredential | Deployments

export const noCredential: Credential = { kind: 'none' }

/** Longer than any token; a service account is some 2 KiB. */
const maxTokenLength = 16 * 1024

/** What a header can hold; a line end in a key that was pasted would be an error of ours at every request. */
export const printablePattern = /^[\x20-\x7e]+$/
export const printableMessage = 'must be printable ASCII characters'

const word = z.string().min(1).max(4096).regex(printablePattern, printableMessage)

const resource = z
  .strictObject({
    api_key: word,
    resource_name: word.regex(settingPatterns.resource, 'must be the name of a resource'),
    resource_type: word.regex(settingPatterns.resource_type, 'must be a type such as ai_foundry').optional(),
  })
  .transform(({ api_key, resource_name, resource_type }) => ({
    token: api_key,
    settings: { resource: resource_name, ...(resource_type && { resource_type }) },
  }))

const deployment = z
  .strictObject({
    model_slug: word,
    endpoint_url: z.url({ protocol: /^https?$/ }),
    api_key: word,
    model_id: word,
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

const accessKey = z
  .strictObject({
    accessKeyId: word,
    secretAccessKey: word,
    sessionToken: word.optional(),
    region: word.regex(/^[a-z]{2,}(?:-[a-z]+)+-\d+$/, 'must be a region such as eu-west-1'),
  })
  .transform((fields): AccessKey => ({ kind: 'access-key', ...fields }))

/** The vendor's own: an assertion goes nowhere else. */
const googleTokenUrls = ['https://oauth2.googleapis.com/token', 'https://accounts.google.com/o/oauth2/token']

const serviceAccount = z
  .looseObject({
    type: z.literal('service_account'),
    project_id: word.regex(settingPatterns.project, 'must be the id of a project'),
    private_key_id: word.optional(),
    private_key: z.string().max(16384).startsWith('-----BEGIN ', 'must be a private key in PEM'),
    client_email: word,
    token_uri: z.enum(googleTokenUrls, `must be ${googleTokenUrls[0]}`).optional(),
    region: word.regex(settingPatterns.region, 'must be a region such as europe-west1, or global').optional(),
    bucket: word.optional(),
  })
  .transform(
    (account): ServiceAccount => ({
      kind: 'service-account',
      clientEmail: account.client_email,
      privateKey: account.private_key,
      privateKeyId: account.private_key_id,
      project: account.project_id,
      region: account.region,
    }),
  )

const credentialForms = { deployments, accessKey, serviceAccount }

/** What a credential may be beside a token. */
export type CredentialForm = keyof typeof credentialForms

/** Names a field, never what is in it. */
export class CredentialError extends Error {
  readonly path: (string | number)[]

  constructor(path: (string | number)[], message: string) {
    super(message)
    this.path = path
  }
}

/** From the text that is stored, or that the environment has. */
export function parseCredential(text: string, form: CredentialForm | undefined): Credential {
  if (form && /^[[{]/.test(text)) return parseCredentialObject(parseCredentialJson(text), form)
  if (text.length > maxTokenLength)
    throw new CredentialError([], `must have at most ${maxTokenLength} characters`)
  if (!printablePattern.test(text)) throw new CredentialError([], printableMessage)
  return { kind: 'token', token: text }
}

/** From what headgate.yaml says. */
export function parseCredentialObject(value: unknown, form: CredentialForm): Credential {
  const result = credentialForms[form].safeParse(value)
  if (result.success) return result.data
  const [first] = flattenIssues(result.error)
  throw new CredentialError(first?.path ?? [], first?.message ?? 'is not valid')
}

function parseCredentialJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof JsonError) throw new CredentialError([], `starts like JSON and is ${error.message}`)
    throw error
  }
}

/** What the credential says of where it is used. */
export function settingsOf(credential: Credential): ProviderSettings {
  if (credential.kind === 'access-key') return { region: credential.region }
  if (credential.kind !== 'service-account') return {}
  const { project, region } = credential
  return { project, ...(region && { region }) }
}

/** What must never be read by anyone, wherever the credential has been. */
export function listSecrets(credential: Credential): string[] {
  switch (credential.kind) {
    case 'none':
      return []
    case 'token':
      return [credential.token]
    case 'access-key':
      return [credential.secretAccessKey, credential.sessionToken, credential.accessKeyId].filter(
        (secret) => secret !== undefined,
      )
    case 'service-account':
      return [credential.privateKey]
    case 'deployments':
      return [...credential.resources, ...credential.deployments].map(({ token }) => token)
  }
}

/** The part people know a credential by; it is shown masked. */
export function identifierOf(credential: Credential): string {
  switch (credential.kind) {
    case 'none':
      return ''
    case 'token':
      return credential.token
    case 'access-key':
      return credential.accessKeyId
    case 'service-account':
      return credential.privateKeyId ?? credential.privateKey
    case 'deployments':
      return [...credential.resources, ...credential.deployments][0]?.token ?? ''
  }
}
