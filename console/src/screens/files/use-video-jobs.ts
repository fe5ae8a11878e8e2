import { useInfiniteQuery } from '@tanstack/react-query'
import { callOf } from '../../api/call.ts'
import { client, type Schemas } from '../../api/client.ts'

export type VideoJob = Schemas['VideoGenerationJob']

const pageSize = 20
/** Milliseconds between refreshes while a job is in progress. */
const refreshMs = 2000

export function isActive({ status }: VideoJob): boolean {
  return status === 'pending' || status === 'in_progress'
}

/** Newest first, or only the one with this id; again and again while one of them is in progress. */
export function useVideoJobs(workspaceId: string | null, id: string | undefined) {
  const query = { limit: pageSize, ...(workspaceId !== null && { workspace_id: workspaceId }) }
  const queryKey =
    id === undefined
      ? ['get', '/videos', { params: { query } }]
      : ['get', '/videos/{jobId}', { params: { path: { jobId: id } } }]
  const list = useInfiniteQuery({
    queryKey,
    queryFn: async ({ pageParam, signal }) => {
      if (id !== undefined) return readOne(id, signal)
      const params = { query: { ...query, ...(pageParam !== null && { after: pageParam }) } }
      const { data } = await client.GET('/videos', { params, signal })
      if (!data) throw new Error('The server sent no jobs.')
      // The other form is for the libraries of OpenAI.
      const jobs = data.data.flatMap((job) => ('polling_url' in job ? [job] : []))
      return { ...data, data: jobs }
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ has_more, last_id }) => (has_more ? last_id : null),
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ data }) => data.some(isActive)) ? refreshMs : false,
  })
  return { list, call: callOf({ queryKey }) }
}

async function readOne(id: string, signal: AbortSignal) {
  const { data } = await client.GET('/videos/{jobId}', { params: { path: { jobId: id } }, signal })
  return { data: data && 'polling_url' in data ? [data] : [], has_more: false, last_id: null }
}
