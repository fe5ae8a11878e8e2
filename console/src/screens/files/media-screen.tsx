import { Code, Text } from '@mantine/core'
import { createLazyRoute } from '@tanstack/react-router'
import { mayDo, useSession } from '../../app/session.tsx'
import { useWorkspace } from '../../app/workspace.tsx'
import { CursorList } from '../../components/cursor-list.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { MediaTabs } from './media-tabs.tsx'
import { useVideoJobs } from './use-video-jobs.ts'
import { VideoTable } from './video-table.tsx'

export const screen = createLazyRoute('/files/media')({ component: MediaScreen })

function MediaScreen() {
  const { id: workspaceId } = useWorkspace()
  const { id } = screen.useSearch()
  const { list, call } = useVideoJobs(workspaceId, id)
  return (
    <Page
      title="Videos, images, audio"
      docs="videos"
      scope="listed"
      description="Generated media. Video jobs can take minutes; the list updates as they run."
      calls={[call]}
    >
      <MediaTabs current="/files/media" />
      {id !== undefined && (
        <Text size="sm">
          Only the job with this ID. <TextLink to="/files/media">Show all</TextLink>
        </Text>
      )}
      <CursorList
        query={list}
        more="Show older jobs"
        empty={
          <EmptyState title="No video jobs yet">
            A job appears here once somebody sends <Code>POST /videos</Code> with a model such as{' '}
            <Code>sandbox/filmmaker</Code> and a prompt. It shows its progress, what it costs, and the video
            until it expires.
          </EmptyState>
        }
      >
        {(jobs) => <VideoTable jobs={jobs} />}
      </CursorList>
      <OtherMedia />
    </Page>
  )
}

const formats = [
  { format: 'images', label: 'Images' },
  { format: 'speech', label: 'Speech' },
  { format: 'transcriptions', label: 'Transcriptions' },
]

/** Links to the requests of media that are not stored, so that there is nothing else to list. */
function OtherMedia() {
  if (!mayDo(useSession(), 'generations:read')) return null
  return (
    <Panel
      title="Images and audio"
      description="Images and audio are returned to the application and not stored. See their requests in the log:"
    >
      {formats.map(({ format, label }) => (
        <Text key={format} size="sm">
          <TextLink to="/requests" search={{ format, period: 'all' }}>
            {label}
          </TextLink>
        </Text>
      ))}
    </Panel>
  )
}
