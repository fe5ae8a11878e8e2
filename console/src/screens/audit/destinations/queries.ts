import { api, type Schemas } from '../../../api/client.ts'

export type AuditDestination = Schemas['AuditDestination']

export const destinationsOptions = api.queryOptions('get', '/audit/destinations')
