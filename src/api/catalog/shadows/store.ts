import { findPlacedRecords } from '../../../identity/placed-records.ts'

export const shadowRecords = findPlacedRecords('shadows', 'shadow')
