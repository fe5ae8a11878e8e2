import { Badge, Menu } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { mayDoEverywhere, useSession } from '../../app/session.tsx'
import { ConfirmByName } from '../../components/confirm-by-name.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { PagedList } from '../../components/paged-list.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { formatCount } from '../../format/number.ts'
import { Declared } from './declared.tsx'
import { pageSize, tiersOptions } from './queries.ts'
import { TierForm } from './tier-form.tsx'

type Tier = Schemas['LimitTier']

interface TierListProps {
  offset: number
  onPage: (offset: number) => void
}

export function TierList({ offset, onPage }: TierListProps) {
  const canWrite = mayDoEverywhere(useSession(), 'budgets:write')
  const query = useQuery({ ...tiersOptions(offset), placeholderData: keepPreviousData })
  return (
    <PagedList
      query={query}
      offset={offset}
      size={pageSize}
      onPage={onPage}
      empty={
        <EmptyState title={offset > 0 ? 'No further tiers' : 'No tiers yet'}>
          A tier is a set of limits that any number of keys share. Create one, choose it in its limits, and
          give it to keys.
        </EmptyState>
      }
    >
      {(tiers) => (
        <DataTable
          rows={tiers}
          keyOf={({ name }) => name}
          minWidth={300}
          columns={[
            {
              header: 'Name',
              breaksWords: true,
              maxWidth: 220,
              render: (tier) => <Declared record={tier} />,
            },
            {
              header: 'Description',
              breaksWords: true,
              maxWidth: 360,
              visibleFrom: 'sm',
              render: ({ description }) => description,
            },
            {
              header: 'New keys',
              render: ({ is_default }) =>
                is_default && (
                  <Badge variant="light" tt="none" miw="max-content">
                    default
                  </Badge>
                ),
            },
            { header: 'Limits', isNumber: true, render: ({ name }) => <LimitCount tier={name} /> },
            canWrite && {
              header: 'Actions',
              isHeaderHidden: true,
              render: (tier) => tier.source === 'tier' && <TierActions tier={tier} />,
            },
          ]}
        />
      )}
    </PagedList>
  )
}

function LimitCount({ tier }: { tier: string }) {
  const { data } = useQuery(api.queryOptions('get', '/limits', { params: { query: { tier, limit: 1 } } }))
  return data ? formatCount(data.total_count) : '…'
}

function TierActions({ tier }: { tier: Tier }) {
  const refresh = useRefresh()
  const [dialog, setDialog] = useState<'edit' | 'delete' | null>(null)
  const close = () => setDialog(null)
  const remove = async () => {
    await client.DELETE('/tiers/{name}', { params: { path: { name: tier.name } } })
    await refresh('/tiers', '/limits', '/limits/usage', '/keys', '/keys/{hash}')
  }
  return (
    <>
      <RowMenu label={`Actions for ${tier.name}`}>
        <Menu.Item onClick={() => setDialog('edit')}>Edit</Menu.Item>
        <Menu.Item c="red" onClick={() => setDialog('delete')}>
          Delete
        </Menu.Item>
      </RowMenu>
      {dialog === 'edit' && <TierForm tier={tier} onClose={close} />}
      {dialog === 'delete' && (
        <ConfirmByName
          title="Delete the tier"
          name={tier.name}
          action="Delete"
          onConfirm={remove}
          onClose={close}
        >
          Its limits are deleted with it. Its keys keep working, without a tier.
        </ConfirmByName>
      )}
    </>
  )
}
