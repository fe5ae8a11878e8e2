import { allPages } from '../../../api/all-pages.ts'
import { api, type Schemas } from '../../../api/client.ts'
import { useRefresh } from '../../../api/use-refresh.ts'

export type Connection = Schemas['SsoConnection']
export type Domain = Schemas['SsoDomain']

export const policyOptions = api.queryOptions('get', '/organization/sso')
export const connectionsOptions = allPages(api.queryOptions('get', '/organization/sso/connections'))
export const domainsOptions = allPages(api.queryOptions('get', '/organization/sso/domains'))

export const identitiesPageSize = 20

export function identitiesOptions(offset: number) {
  return api.queryOptions('get', '/organization/sso/identities', {
    params: { query: { offset, limit: identitiesPageSize } },
  })
}

/** Everything about single sign-on is read again. */
export function useSsoRefresh(): () => Promise<void> {
  const refresh = useRefresh()
  return () =>
    refresh(
      '/organization/sso',
      '/organization/sso/connections',
      '/organization/sso/domains',
      '/organization/sso/identities',
    )
}
