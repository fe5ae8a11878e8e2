import type { paths } from '../../../api/schema.ts'
import type { Connection } from './queries.ts'

type Mapping = Connection['mappings'][number]
export type ConnectionBody =
  paths['/organization/sso/connections']['post']['requestBody']['content']['application/json']

export interface MappingDraft extends Mapping {
  key: string
}

/** A connection as the form has it. */
export interface ConnectionDraft {
  name: string
  issuer: string
  client_id: string
  /** Empty keeps what is stored. */
  clientSecret: string
  client_auth: Connection['client_auth']
  scopes: string[]
  claims: Connection['claims']
  mappings: MappingDraft[]
  default_role: string
  jit: boolean
}

export const newConnectionDraft: ConnectionDraft = {
  name: '',
  issuer: '',
  client_id: '',
  clientSecret: '',
  client_auth: 'client_secret_basic',
  scopes: ['openid', 'profile', 'email'],
  claims: {
    email: 'email',
    email_verified: 'email_verified',
    given_name: 'given_name',
    family_name: 'family_name',
  },
  mappings: [],
  default_role: 'org:member',
  jit: false,
}

export function draftOf(connection: Connection): ConnectionDraft {
  const { name, issuer, client_id, client_auth, scopes, claims, mappings, default_role, jit } = connection
  return {
    ...{ name, issuer, client_id, client_auth, scopes, claims, default_role, jit },
    clientSecret: '',
    mappings: mappings.map((mapping, index) => ({ ...mapping, key: String(index) })),
  }
}

/** Whether everything has a value; a new issuer needs its own secret. */
export function isReady(draft: ConnectionDraft, stored: Connection | undefined): boolean {
  const { name, issuer, client_id, clientSecret, claims, mappings } = draft
  const texts = [name, issuer, client_id, ...Object.values(claims)]
  const needsSecret = !stored || stored.issuer !== issuer.trim()
  return (
    texts.every((text) => text.trim() !== '') &&
    (!needsSecret || clientSecret !== '') &&
    mappings.every(
      ({ claim, value, role, workspace_id }) =>
        claim.trim() !== '' &&
        value.trim() !== '' &&
        role !== '' &&
        (workspace_id !== null || !isMembership(role)),
    )
  )
}

/** Whether a role makes somebody a member of a workspace, which it then needs. */
export function isMembership(role: string): boolean {
  return role === 'member' || role === 'admin'
}

export function buildBody(draft: ConnectionDraft): Omit<ConnectionBody, 'client_secret'> {
  const { clientSecret: _secret, mappings, ...fields } = draft
  return {
    ...fields,
    name: draft.name.trim(),
    issuer: draft.issuer.trim(),
    client_id: draft.client_id.trim(),
    mappings: mappings.map(({ claim, value, workspace_id, role }) => ({ claim, value, workspace_id, role })),
  }
}
