import { Badge, Button, Group, Modal, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { ActionButton } from '../../components/action-button.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { Pager } from '../../components/pager.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { Time } from '../../components/time.tsx'
import { useMemberNames } from '../../components/use-members.ts'
import { draftOf, type PresetVersion } from './draft.ts'
import { PlaygroundButton } from './playground-button.tsx'
import { VersionContent } from './version-content.tsx'
import { VersionEditor } from './version-editor.tsx'

const pageSize = 10

/** The API lists the oldest first; how many there are says where the newest begin. */
export function countOptions(slug: string) {
  return api.queryOptions('get', '/presets/{slug}/versions', {
    params: { path: { slug }, query: { limit: 1 } },
  })
}

function pageOptions(slug: string, offset: number, limit: number) {
  return api.queryOptions('get', '/presets/{slug}/versions', {
    params: { path: { slug }, query: { offset, limit } },
  })
}

interface VersionListProps {
  preset: Schemas['PresetWithDesignatedVersion']
  mayChange: boolean
  offset: number
  onPage: (offset: number) => void
  onCompare: (version: number) => void
}

/** All versions, newest first. */
export function VersionList({ preset, mayChange, offset, onPage, onCompare }: VersionListProps) {
  const { slug } = preset
  const count = useQuery(countOptions(slug)).data?.total_count
  const end = (count ?? 0) - offset
  const start = Math.max(0, end - pageSize)
  const query = useQuery({
    ...pageOptions(slug, start, Math.max(1, end - start)),
    enabled: count !== undefined && end > 0,
    placeholderData: keepPreviousData,
  })
  const [dialog, setDialog] = useState<{ kind: 'show' | 'edit'; version: PresetVersion } | null>(null)
  const close = () => setDialog(null)
  return (
    <Panel
      title="Versions"
      description="Each change creates a version. Changing the live version affects new requests immediately."
    >
      <QueryView query={query}>
        {({ data }) => (
          <VersionTable
            versions={data.toReversed()}
            preset={preset}
            mayChange={mayChange}
            onShow={(version) => setDialog({ kind: 'show', version })}
            onEdit={(version) => setDialog({ kind: 'edit', version })}
            onCompare={onCompare}
          />
        )}
      </QueryView>
      <Pager offset={offset} size={pageSize} total={count ?? 0} onChange={onPage} />
      {dialog?.kind === 'show' && (
        <Modal
          opened
          onClose={close}
          size="lg"
          title={`Version ${dialog.version.version}`}
          closeButtonProps={{ 'aria-label': 'Close' }}
        >
          <VersionContent version={dialog.version} />
        </Modal>
      )}
      {dialog?.kind === 'edit' && (
        <VersionEditor
          slug={slug}
          title={`New version, from version ${dialog.version.version}`}
          initial={draftOf(dialog.version)}
          onSaved={() => onPage(0)}
          onClose={close}
        />
      )}
    </Panel>
  )
}

interface VersionTableProps extends Pick<VersionListProps, 'preset' | 'mayChange' | 'onCompare'> {
  versions: PresetVersion[]
  onShow: (version: PresetVersion) => void
  onEdit: (version: PresetVersion) => void
}

function VersionTable({ versions, ...props }: VersionTableProps) {
  const nameOf = useMemberNames(versions.map(({ creator_id }) => creator_id).filter((id) => !isKey(id)))
  const { designated_version_id: liveId } = props.preset
  return (
    <DataTable
      rows={versions}
      keyOf={({ id }) => id}
      minWidth={320}
      columns={[
        {
          header: 'Version',
          render: ({ id, version }) => <VersionNumber version={version} isLive={id === liveId} />,
        },
        {
          header: 'Model',
          visibleFrom: 'sm',
          breaksWords: true,
          render: ({ config }) => (typeof config.model === 'string' ? config.model : '–'),
        },
        {
          header: 'Created',
          visibleFrom: 'md',
          render: ({ created_at, creator_id }) => (
            <>
              <Time iso={created_at} style="age" />
              <Text size="xs" c="dimmed" truncate maw={180}>
                {isKey(creator_id) ? 'an API key' : nameOf(creator_id)}
              </Text>
            </>
          ),
        },
        { header: 'Actions', render: (version) => <VersionActions version={version} {...props} /> },
      ]}
    />
  )
}

function isKey(creatorId: string): boolean {
  return creatorId.startsWith('key:')
}

function VersionNumber({ version, isLive }: { version: number; isLive: boolean }) {
  return (
    <Group gap="xs" wrap="nowrap">
      {version}
      {isLive && (
        <Badge color="teal" variant="light" tt="none" miw="max-content">
          live
        </Badge>
      )}
    </Group>
  )
}

interface VersionActionsProps extends Omit<VersionTableProps, 'versions'> {
  version: PresetVersion
}

function VersionActions({ version, preset, mayChange, onShow, onEdit, onCompare }: VersionActionsProps) {
  const refresh = useRefresh()
  const session = useSession()
  const { slug } = preset
  const number = version.version
  const isLive = version.id === preset.designated_version_id
  const designate = async () => {
    await client.PATCH('/presets/{slug}', {
      params: { path: { slug } },
      body: { designated_version: number },
    })
    await refresh('/presets', '/presets/{slug}')
  }
  return (
    <Group gap="xs">
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`Show version ${number}`}
        onClick={() => onShow(version)}
      >
        Show
      </Button>
      {!isLive && (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Compare version ${number} with the live one`}
          onClick={() => onCompare(number)}
        >
          Compare
        </Button>
      )}
      {mayChange && !isLive && (
        <ActionButton size="compact-xs" label={`Make live: version ${number}`} onAction={designate}>
          Make live
        </ActionButton>
      )}
      {mayChange && preset.status !== 'archived' && (
        <Button
          size="compact-xs"
          variant="default"
          aria-label={`Edit version ${number} as a new version`}
          onClick={() => onEdit(version)}
        >
          Edit
        </Button>
      )}
      {mayDo(session, 'inference:write') && <PlaygroundButton version={version} />}
    </Group>
  )
}
