import { api } from '../../api/client.ts'

export const accountOptions = api.queryOptions('get', '/account')
export const passkeysOptions = api.queryOptions('get', '/account/passkeys')
export const sessionsOptions = api.queryOptions('get', '/sessions')
