import { Paper, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { writeOffset } from '../../app/search-params.ts'
import { mayDoEverywhere, mayDoIn, useSession } from '../../app/session.tsx'
import { Id } from '../../components/copy.tsx'
import { Fields } from '../../components/fields.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { useWorkspaceNames } from '../../components/use-workspaces.ts'
import { PresetActions } from './preset-actions.tsx'
import { PresetStatus } from './preset-status.tsx'
import { UsageSnippets } from './usage-snippets.tsx'
import { VersionComparison } from './version-comparison.tsx'
import { VersionContent } from './version-content.tsx'
import { countOptions, VersionList } from './version-list.tsx'

export const screen = createLazyRoute('/presets/$slug')({ component: PresetScreen })

type Preset = Schemas['PresetWithDesignatedVersion']

function PresetScreen() {
  const { slug } = screen.useParams()
  const session = useSession()
  const options = api.queryOptions('get', '/presets/{slug}', { params: { path: { slug } } })
  const query = useQuery(options)
  const preset = query.data?.data
  const mayChange = preset
    ? preset.workspace_id === null
      ? mayDoEverywhere(session, 'presets:write')
      : mayDoIn(session, preset.workspace_id, 'presets:write')
    : false
  return (
    <Page
      title={preset?.name ?? 'Preset'}
      docs="presets"
      description={<TextLink to="/presets">All presets</TextLink>}
      calls={[callOf(options), callOf(countOptions(slug))]}
      actions={preset && <PresetActions preset={preset} mayChange={mayChange} />}
    >
      <QueryView query={query}>
        {({ data }) => (
          <Stack>
            <Facts preset={data} />
            {data.designated_version && (
              <Panel
                title={`Live version: ${data.designated_version.version}`}
                description={
                  data.status === 'active'
                    ? undefined
                    : `The preset is ${data.status}: requests that name it are refused.`
                }
              >
                <VersionContent version={data.designated_version} />
              </Panel>
            )}
            <Versions preset={data} mayChange={mayChange} />
            <UsageSnippets preset={data} />
          </Stack>
        )}
      </QueryView>
    </Page>
  )
}

function Facts({ preset }: { preset: Preset }) {
  const workspaceOf = useWorkspaceNames([preset.workspace_id])
  return (
    <Paper withBorder p="md">
      <Fields
        fields={[
          ['Name in requests', <Id key="name" value={`@preset/${preset.slug}`} label="Copy the name" />],
          ['Status', <PresetStatus key="status" status={preset.status} />],
          ...(preset.description ? [['Description', preset.description] as [string, string]] : []),
          [
            'Can be changed by',
            preset.workspace_id === null
              ? 'the organization'
              : `members of ${workspaceOf(preset.workspace_id)}`,
          ],
          ['Created', <Time key="created" iso={preset.created_at} />],
          ['Last change', <Time key="updated" iso={preset.updated_at} style="age" />],
        ]}
      />
    </Paper>
  )
}

function Versions({ preset, mayChange }: { preset: Preset; mayChange: boolean }) {
  const { offset = 0, from, to } = screen.useSearch()
  const navigate = screen.useNavigate()
  const live = preset.designated_version?.version ?? 1
  const compared = { from: from ?? Math.max(1, live - 1), to: to ?? live }
  const compare = (next: { from: number; to: number }) =>
    void navigate({ search: { ...writeOffset(offset), ...next }, resetScroll: false })
  return (
    <>
      <VersionList
        preset={preset}
        mayChange={mayChange}
        offset={offset}
        onPage={(next) =>
          void navigate({
            search: { ...writeOffset(next), ...(from && { from }), ...(to && { to }) },
            resetScroll: false,
          })
        }
        onCompare={(version) => compare({ from: version, to: live })}
      />
      <VersionComparison slug={preset.slug} {...compared} onChange={compare} />
    </>
  )
}
