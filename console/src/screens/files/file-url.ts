import { apiUrl } from '../../api/base-url.ts'
import { urlOf } from '../../api/call.ts'

/** The bytes of a file, sent as a download whatever they are. */
export function fileUrl(id: string, workspaceId: string | null): string {
  return urlOf({
    method: 'GET',
    path: `/files/${encodeURIComponent(id)}/content`,
    query: { workspace_id: workspaceId },
  })
}

/** A video of a job, which plays while it is loaded. */
export function videoUrl(jobId: string, index: number): string {
  return `${apiUrl()}/videos/${encodeURIComponent(jobId)}/content?index=${index}`
}
