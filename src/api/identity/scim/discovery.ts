import { Schemas } from 'scimmy'
import { buildListResponse, maxResults } from './listing.ts'
import {
  createScimRoutes,
  enterpriseUrn,
  type Json,
  ScimError,
  type ScimHandler,
  scimResponse,
} from './protocol.ts'

const userUrn = 'urn:ietf:params:scim:schemas:core:2.0:User'
const groupUrn = 'urn:ietf:params:scim:schemas:core:2.0:Group'

const getServiceProviderConfig: ScimHandler = async ({ base }) =>
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
        description: 'A token created with POST /api/v1/scim/tokens, sent as Authorization: Bearer.',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  })

function buildResourceTypes(base: string): Json[] {
  const buildCommonFields = (id: string) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id,
    name: id,
    endpoint: `/${id}s`,
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${id}` },
  })
  return [
    {
      ...buildCommonFields('User'),
      description: 'A member of the organization',
      schema: userUrn,
      schemaExtensions: [{ schema: enterpriseUrn, required: false }],
    },
    {
      ...buildCommonFields('Group'),
      description: 'A group that can be mapped to workspaces',
      schema: groupUrn,
    },
  ]
}

// The display of a group member is its userName and read-only; RFC 7643, 8.7.1 does not define it.
const displayConfig = Schemas.Group.definition.attribute('members.display').config
displayConfig.mutable = false
displayConfig.returned = 'request'

function buildSchemas(base: string): Json[] {
  return [Schemas.User, Schemas.Group, Schemas.EnterpriseUser].map((schema) => {
    const { attributes, ...rest } = schema.definition.describe(`${base}/Schemas`)
    return { ...rest, attributes: toPlainAttributes(attributes).map(toPublishedAttribute) }
  })
}

/** The library's attributes are serialized by their toJSON. */
function toPlainAttributes(attributes: unknown): Json[] {
  return JSON.parse(JSON.stringify(attributes)) as Json[]
}

/** `active` is always set and cannot be removed; omitting it leaves it unchanged. */
function toPublishedAttribute(attribute: Json): Json {
  return attribute.name === 'active' ? { ...attribute, required: true } : attribute
}

function createCollectionHandler(entries: (base: string) => Json[]): ScimHandler {
  return async ({ base }) => {
    const all = entries(base)
    return buildListResponse(all, all.length, { offset: 0, limit: all.length })
  }
}

function createEntryHandler(entries: (base: string) => Json[]): ScimHandler {
  return async ({ base, id }) => {
    const match = entries(base).find((entry) => String(entry.id).toLowerCase() === id.toLowerCase())
    if (!match) throw new ScimError(404, undefined, 'This resource does not exist.')
    return scimResponse(match)
  }
}

export const discoveryPages = [
  ...createScimRoutes('/ServiceProviderConfig', { GET: getServiceProviderConfig }),
  ...createScimRoutes('/ResourceTypes', { GET: createCollectionHandler(buildResourceTypes) }),
  ...createScimRoutes('/ResourceTypes/:id', { GET: createEntryHandler(buildResourceTypes) }),
  ...createScimRoutes('/Schemas', { GET: createCollectionHandler(buildSchemas) }),
  ...createScimRoutes('/Schemas/:id', { GET: createEntryHandler(buildSchemas) }),
]
