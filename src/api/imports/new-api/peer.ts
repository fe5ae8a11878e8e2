import { createDatabasePeer } from './database-peer.ts'
import { newApiChannels } from './vendors.ts'

export const newApi = createDatabasePeer({
  name: 'new-api',
  title: 'new-api',
  vendors: newApiChannels,
  column: 'model_limits',
})
