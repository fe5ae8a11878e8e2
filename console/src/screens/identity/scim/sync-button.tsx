import { notifications } from '@mantine/notifications'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api, client } from '../../../api/client.ts'
import { ActionButton } from '../../../components/action-button.tsx'
import { formatCount } from '../../../format/number.ts'
import { useScimRefresh } from './queries.ts'

const pollMs = 1000

/** Applies every mapping again, and says how it went. */
export function SyncButton() {
  const refresh = useScimRefresh()
  const [jobId, setJobId] = useState<string | null>(null)
  const options = api.queryOptions('get', '/scim/sync-jobs/{id}', { params: { path: { id: jobId ?? '' } } })
  const { data } = useQuery({ ...options, enabled: jobId !== null, refetchInterval: pollMs })
  const job = data?.data
  useEffect(() => {
    if (!job || (job.status !== 'succeeded' && job.status !== 'failed')) return
    setJobId(null)
    const groups = formatCount(job.synced_groups ?? 0)
    notifications.show(
      job.status === 'succeeded'
        ? { message: `The mappings of ${groups} groups were applied.` }
        : { color: 'red', message: job.error_message ?? 'The mappings could not be applied.' },
    )
    void refresh()
  }, [job, refresh])
  const start = async () => {
    const { data: created } = await client.POST('/scim/sync-jobs')
    setJobId(created?.data.id ?? null)
  }
  return (
    <ActionButton disabled={jobId !== null} onAction={start}>
      {jobId === null ? 'Apply all again' : 'Applying…'}
    </ActionButton>
  )
}
