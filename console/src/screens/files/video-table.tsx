import { Anchor, Badge, Group, Modal, Progress, Stack, Text } from '@mantine/core'
import { client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { Money } from '../../components/money.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { useWorkspaceNames } from '../../components/use-workspaces.ts'
import { videoUrl } from './file-url.ts'
import { ShortId } from './short-id.tsx'
import { isActive, type VideoJob } from './use-video-jobs.ts'

const statusTexts: Record<VideoJob['status'], { label: string; color: string }> = {
  pending: { label: 'waiting', color: 'gray' },
  in_progress: { label: 'in progress', color: 'indigo' },
  completed: { label: 'completed', color: 'teal' },
  failed: { label: 'failed', color: 'red' },
  cancelled: { label: 'cancelled', color: 'gray' },
  expired: { label: 'not ready in time', color: 'orange' },
}

export function VideoTable({ jobs }: { jobs: VideoJob[] }) {
  const { workspaces } = useWorkspace()
  const workspaceOf = useWorkspaceNames(jobs.map(({ workspace_id }) => workspace_id))
  return (
    <DataTable
      rows={jobs}
      keyOf={({ id }) => id}
      minWidth={440}
      columns={[
        {
          header: 'Job',
          breaksWords: true,
          maxWidth: 320,
          render: ({ id, model }) => (
            <>
              <Text size="sm">{model}</Text>
              <ShortId value={id} label={`Copy the id ${id}`} />
            </>
          ),
        },
        { header: 'Status', maxWidth: 220, breaksWords: true, render: (job) => <JobStatus job={job} /> },
        { header: 'Cost', isNumber: true, render: ({ usage }) => <Money value={usage?.cost} /> },
        {
          header: 'Created',
          visibleFrom: 'sm',
          render: ({ created_at }) => <Time iso={created_at} style="age" />,
        },
        workspaces.length > 1 && {
          header: 'Workspace',
          visibleFrom: 'md',
          breaksWords: true,
          render: ({ workspace_id }) => (workspace_id ? workspaceOf(workspace_id) : '–'),
        },
        { header: 'Actions', isHeaderHidden: true, render: (job) => <JobActions job={job} /> },
      ]}
    />
  )
}

function JobStatus({ job }: { job: VideoJob }) {
  const { label, color } = statusTexts[job.status]
  return (
    <Stack gap={4}>
      <Badge color={color} variant="light" tt="none" miw="max-content">
        {label}
      </Badge>
      {isActive(job) && <Progress value={job.progress} aria-label={`Progress of ${job.id}`} />}
      {job.error && <Text size="xs">{job.error}</Text>}
    </Stack>
  )
}

function JobActions({ job }: { job: VideoJob }) {
  const session = useSession()
  const refresh = useRefresh()
  const { id, generation_id: generationId, model } = job
  const remove = async () => {
    await client.DELETE('/videos/{jobId}', { params: { path: { jobId: id } } })
    await refresh('/videos')
  }
  return (
    <Group gap="xs" justify="flex-end">
      {isWatchable(job) && (
        <DialogButton label="Watch" description={`Watch ${id}`} variant="default">
          {(close) => <VideoPreview job={job} onClose={close} />}
        </DialogButton>
      )}
      {generationId && mayDo(session, 'generations:read') && (
        <TextLink to="/requests/$id" params={{ id: generationId }}>
          Request
        </TextLink>
      )}
      {!isActive(job) && mayDo(session, 'videos:write') && (
        <DialogButton label="Delete" description={`Delete ${id}`} variant="default" color="red">
          {(close) => (
            <ConfirmByName
              title="Delete the job"
              name={id}
              action="Delete"
              onConfirm={remove}
              onClose={close}
            >
              The job of {model} and its videos are deleted. Its cost stays charged.
            </ConfirmByName>
          )}
        </DialogButton>
      )}
    </Group>
  )
}

function isWatchable({ status, expires_at }: VideoJob): boolean {
  return status === 'completed' && (expires_at === null || Date.parse(expires_at) > Date.now())
}

function VideoPreview({ job, onClose }: { job: VideoJob; onClose: () => void }) {
  const urls = (job.unsigned_urls ?? []).map((_, index) => videoUrl(job.id, index))
  return (
    <Modal opened onClose={onClose} size="xl" title={job.model} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack>
        {job.expires_at && (
          <Text size="sm" c="dimmed">
            The video is deleted <Time iso={job.expires_at} style="age" />.
          </Text>
        )}
        {urls.map((url, index) => (
          <Stack key={url} gap="xs">
            <video
              controls
              preload="metadata"
              src={url}
              aria-label={`Video ${index + 1}`}
              style={{ maxWidth: '100%', maxHeight: '70vh' }}
            >
              <track kind="captions" src="data:text/vtt,WEBVTT" label="None" />
            </video>
            <Anchor href={url} download={`${job.id}-${index}.mp4`} size="sm">
              Download
            </Anchor>
          </Stack>
        ))}
      </Stack>
    </Modal>
  )
}
