import { Schemas } from 'scimmy'
import { listResponse, maxResults } from './listing.ts'
import { enterpriseUrn, type Json, ScimError, type ScimHandler, scimPages, scimResponse } from './protocol.ts'

const userUrn = 'urn:ietf:params:scim:schemas:core:2.0:User'
const groupUrn = 'urn:ietf:params:scim:schemas:core:2.0:Group'

const config: ScimHandler = async ({ base }) =>
  scimResponse({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: false },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'SCIM token',
        description: 'A token made with POST /api/v1/scim/tokens, sent as Authorization: Bearer.',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  })

function resourceTypes(base: string): Json[] {
  const common = (id: string) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id,
    name: id,
    endpoint: `/${id}s`,
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${id}` },
  })
  return [
    {
      ...common('User'),
      description: 'A member of the organization',
      schema: userUrn,
      schemaExtensions: [{ schema: enterpriseUrn, required: false }],
    },
    { ...common('Group'), description: 'A group that can be mapped to workspaces', schema: groupUrn },
  ]
}

// The display name of a member is the userName, not for clients to set; RFC 7643, 8.7.1 has none at all.
const displayConfig = Schemas.Group.definition.attribute('members.display').config
displayConfig.mutable = false
displayConfig.returned = 'request'

function schemas(base: string): Json[] {
  return [Schemas.User, Schemas.Group, Schemas.EnterpriseUser].map((schema) => {
    const { attributes, ...rest } = schema.definition.describe(`${base}/Schemas`)
    return { ...rest, attributes: plainAttributes(attributes).map(publishedAttribute) }
  })
}

/** The library's attributes become definitions only as JSON. */
function plainAttributes(attributes: unknown): Json[] {
  return JSON.parse(JSON.stringify(attributes)) as Json[]
}

/** Somebody is active or not, so that `active` cannot be removed; a client that leaves it out means what it was. */
function publishedAttribute(attribute: Json): Json {
  return attribute.name === 'active' ? { ...attribute, required: true } : attribute
}

function listOf(entries: (base: string) => Json[]): ScimHandler {
  return async ({ base }) => {
    const all = entries(base)
    return listResponse(all, all.length, { offset: 0, limit: all.length })
  }
}

function oneOf(entries: (base: string) => Json[]): ScimHandler {
  return async ({ base, id }) => {
    const found = entries(base).find((entry) => String(entry.id).toLowerCase() === id.toLowerCase())
    if (!found) throw new ScimError(404, undefined, 'There is nothing of that name.')
    return scimResponse(found)
  }
}

export const discoveryPages = [
  ...scimPages('/ServiceProviderConfig', { GET: config }),
  ...scimPages('/ResourceTypes', { GET: listOf(resourceTypes) }),
  ...scimPages('/ResourceTypes/:id', { GET: oneOf(resourceTypes) }),
  ...scimPages('/Schemas', { GET: listOf(schemas) }),
  ...scimPages('/Schemas/:id', { GET: oneOf(schemas) }),
]
