import { createDatabasePeer } from '../new-api/database-peer.ts'
import { oneApiChannels } from '../new-api/vendors.ts'

export const oneApi = createDatabasePeer({
  name: 'one-api',
  title: 'One API',
  vendors: oneApiChannels,
  column: 'subnet',
})
