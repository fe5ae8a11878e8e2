import { handleRequests } from '../concurrency/worker-thread.ts'
import { type OfficeLimits, readOfficeText } from './office-text.ts'

// The first message only starts the thread.
handleRequests((request, [data = '']) =>
  request === null ? null : readOfficeText(Buffer.from(data, 'base64'), request as OfficeLimits),
)
