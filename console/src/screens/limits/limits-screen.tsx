import { Stack, Tabs } from '@mantine/core'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { writeOffset } from '../../app/search-params.ts'
import { mayDo, mayDoEverywhere, useSession } from '../../app/session.tsx'
import { DialogButton } from '../../components/dialog-button.tsx'
import { Page } from '../../components/page.tsx'
import { CreateLimit } from './create-limit.tsx'
import { LimitList } from './limit-list.tsx'
import { limitsOptions, tiersOptions, usageOptions } from './queries.ts'
import { TierForm } from './tier-form.tsx'
import { TierList } from './tier-list.tsx'

export const screen = createLazyRoute('/limits')({ component: LimitsScreen })

function LimitsScreen() {
  const session = useSession()
  const { tab = 'limits', offset = 0 } = screen.useSearch()
  const navigate = screen.useNavigate()
  const isTiers = tab === 'tiers'
  const search = isTiers ? ({ tab: 'tiers' } as const) : {}
  const paging = {
    offset,
    onPage: (next: number) => void navigate({ search: { ...search, ...writeOffset(next) } }),
  }
  const options = isTiers ? [tiersOptions(offset)] : [limitsOptions(offset), usageOptions(offset)]
  return (
    <Page
      title="Limits"
      docs="limits"
      description="Maximum spending, requests and tokens in a window, for whatever a request is about: a workspace, key, tier, end user, tag, model or provider."
      calls={options.map(callOf)}
      actions={
        isTiers
          ? mayDoEverywhere(session, 'budgets:write') && (
              <DialogButton label="Create a tier" action="create-tier">
                {(close) => <TierForm onClose={close} />}
              </DialogButton>
            )
          : mayDo(session, 'budgets:write') && (
              <DialogButton label="Create a limit" action="create">
                {(close) => <CreateLimit onClose={close} />}
              </DialogButton>
            )
      }
    >
      <Tabs
        value={tab}
        onChange={(value) => void navigate({ search: value === 'tiers' ? { tab: 'tiers' } : {} })}
      >
        <Tabs.List aria-label="Limits and tiers">
          <Tabs.Tab value="limits">Limits</Tabs.Tab>
          <Tabs.Tab value="tiers">Tiers</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="limits" pt="md">
          <Stack>{!isTiers && <LimitList {...paging} />}</Stack>
        </Tabs.Panel>
        <Tabs.Panel value="tiers" pt="md">
          <Stack>{isTiers && <TierList {...paging} />}</Stack>
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}
