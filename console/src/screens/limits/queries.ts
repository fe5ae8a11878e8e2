import { api } from '../../api/client.ts'

export const pageSize = 50

const pageOf = (offset: number) => ({ params: { query: { offset, limit: pageSize } } })

export const limitsOptions = (offset: number) => api.queryOptions('get', '/limits', pageOf(offset))
/** In the order of the limits. */
export const usageOptions = (offset: number) => api.queryOptions('get', '/limits/usage', pageOf(offset))
export const tiersOptions = (offset: number) => api.queryOptions('get', '/tiers', pageOf(offset))
