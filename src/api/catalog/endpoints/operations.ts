import { z } from 'zod'
import { endpointRecord, toEndpointRecord } from '../../../catalog/endpoint-record.ts'
import { modelPath, requireModel } from '../../../catalog/model-path.ts'
import { architectureFields, toArchitecture } from '../../../catalog/model-record.ts'
import { defineOperation } from '../../../http/operation.ts'
import { listEndpointHealth } from './health.ts'
import { readLiveStats } from './live-stats.ts'

const tag = 'Endpoints'

const liveNote =
  'Speeds, uptimes and states are measured over the requests this process sent with the keys of the installation; BYOK keys do not count.'

const modelEndpoints = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    created: z.int(),
    description: z.string(),
    architecture: z.strictObject(architectureFields),
    endpoints: z.array(endpointRecord),
  })
  .meta({ id: 'ListEndpointsResponse' })

const listModelEndpoints = defineOperation({
  id: 'listModelEndpoints',
  method: 'GET',
  path: '/models/{author}/{slug}/endpoints',
  tag,
  summary: 'Lists the endpoints of a model.',
  description: liveNote,
  permission: 'models:read',
  params: modelPath,
  errors: [404],
  response: z.strictObject({ data: modelEndpoints }),
  handle: async ({ gateway, params }) => {
    const { model, latest } = requireModel(gateway.catalog, params)
    return {
      data: {
        id: latest ?? model.id,
        name: model.name,
        created: model.listed_at,
        description: model.description,
        architecture: toArchitecture(model),
        endpoints: model.endpoints.map((endpoint) =>
          toEndpointRecord(model, endpoint, readLiveStats(gateway, endpoint)),
        ),
      },
    }
  },
})

const listZdrEndpoints = defineOperation({
  id: 'listZdrEndpoints',
  method: 'GET',
  path: '/endpoints/zdr',
  tag,
  summary: 'Lists the endpoints with zero data retention.',
  description: liveNote,
  permission: 'models:read',
  response: z.strictObject({ data: z.array(endpointRecord) }),
  handle: async ({ gateway }) => ({
    data: gateway.catalog.models.flatMap((model) =>
      model.endpoints
        .filter((endpoint) => !endpoint.data_policy.retains)
        .map((endpoint) => toEndpointRecord(model, endpoint, readLiveStats(gateway, endpoint))),
    ),
  }),
})

export const endpointOperations = [listModelEndpoints, listZdrEndpoints, listEndpointHealth]
