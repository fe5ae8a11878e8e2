import { Menu } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { useState } from 'react'
import { callOf } from '../../api/call.ts'
import { api, client } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDo, useSession } from '../../app/session.tsx'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Money } from '../../components/money.tsx'
import { Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { formatShare } from '../../format/number.ts'
import { type Shadow, ShadowForm } from './shadow-form.tsx'

export const screen = createLazyRoute('/shadows')({ component: ShadowsScreen })

function ShadowsScreen() {
  const mayWrite = mayDo(useSession(), 'shadows:write')
  const options = api.queryOptions('get', '/shadows')
  const query = useQuery(options)
  return (
    <Page
      title="Shadow mode"
      docs="shadow"
      description="Mirrors a share of requests to another route and compares the replies. Clients are not affected."
      calls={[callOf(options)]}
      actions={
        mayWrite && (
          <DialogButton label="Create a shadow" action="create">
            {(close) => <ShadowForm onClose={close} />}
          </DialogButton>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState title="No shadows yet">
              Compare this gateway with your current one before you switch.
            </EmptyState>
          ) : (
            <ShadowTable shadows={data} mayWrite={mayWrite} />
          )
        }
      </QueryView>
    </Page>
  )
}

function ShadowTable({ shadows, mayWrite }: { shadows: Shadow[]; mayWrite: boolean }) {
  return (
    <DataTable
      rows={shadows}
      keyOf={({ id }) => id}
      minWidth={340}
      columns={[
        {
          header: 'Name',
          breaksWords: true,
          maxWidth: 260,
          render: ({ id, name }) => (
            <TextLink to="/shadows/$id" params={{ id }} size="sm">
              {name}
            </TextLink>
          ),
        },
        { header: 'Share', isNumber: true, render: ({ share }) => formatShare(share) },
        {
          header: 'Budget for a day',
          isNumber: true,
          visibleFrom: 'sm',
          render: ({ daily_usd }) => <Money value={daily_usd} />,
        },
        { header: 'State', render: ({ enabled }) => (enabled ? 'Enabled' : 'Disabled') },
        mayWrite && {
          header: 'Actions',
          isHeaderHidden: true,
          render: (shadow) => <ShadowActions shadow={shadow} />,
        },
      ]}
    />
  )
}

function ShadowActions({ shadow }: { shadow: Shadow }) {
  const refresh = useRefresh()
  const [dialog, setDialog] = useState<'edit' | 'delete' | null>(null)
  const close = () => setDialog(null)
  const remove = async () => {
    await client.DELETE('/shadows/{id}', { params: { path: { id: shadow.id } } })
    await refresh('/shadows')
  }
  return (
    <>
      <RowMenu label={`Actions for ${shadow.name}`}>
        <Menu.Item onClick={() => setDialog('edit')}>Edit</Menu.Item>
        <Menu.Item c="red" onClick={() => setDialog('delete')}>
          Delete
        </Menu.Item>
      </RowMenu>
      {dialog === 'edit' && <ShadowForm shadow={shadow} onClose={close} />}
      {dialog === 'delete' && (
        <ConfirmByName
          title="Delete the shadow"
          name={shadow.name}
          action="Delete"
          onConfirm={remove}
          onClose={close}
        >
          Its comparisons are deleted too.
        </ConfirmByName>
      )}
    </>
  )
}
