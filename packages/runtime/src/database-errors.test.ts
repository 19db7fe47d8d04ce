import { describe, expect, test } from '@jest/globals';
import { sqlStates, type Trouble, troubleOf } from './database-errors.ts';

const ofDatabase = (code: string) => Object.assign(new Error('refused'), { code, severity: 'ERROR' });

describe('troubleOf', () => {
  test.each(sqlStates)('%s… is %s: %s', (begins, trouble) => {
    expect(troubleOf(ofDatabase(begins.padEnd(5, '0')))).toBe(trouble);
    expect(troubleOf(new Error('could not', { cause: ofDatabase(begins.padEnd(5, '1')) }))).toBe(trouble);
  });

  test.each<[code: string, means: string, trouble: Trouble]>([
    ['57P01', 'admin_shutdown', 'away'],
    ['57P02', 'crash_shutdown', 'away'],
    ['57P03', 'cannot_connect_now', 'away'],
    ['57014', 'query_canceled', 'away'],
    ['53100', 'disk_full', 'away'],
    ['53300', 'too_many_connections', 'away'],
    ['21000', 'cardinality_violation', 'values'],
    ['22P05', 'untranslatable_character', 'values'],
    ['23505', 'unique_violation', 'values'],
    ['25001', 'active_sql_transaction', 'other'],
    ['25P02', 'in_failed_sql_transaction', 'other'],
    ['40002', 'transaction_integrity_constraint_violation', 'other'],
    ['42P01', 'undefined_table', 'other'],
    ['42501', 'insufficient_privilege', 'other'],
    ['54000', 'program_limit_exceeded', 'other'],
    ['55000', 'object_not_in_prerequisite_state', 'other'],
    ['57000', 'operator_intervention', 'other'],
    ['58030', 'io_error', 'other'],
    ['P0001', 'raise_exception', 'other'],
    ['XX000', 'internal_error', 'other'],
  ])('%s (%s) is %s', (code, _means, trouble) => expect(troubleOf(ofDatabase(code))).toBe(trouble));

  test.each<[what: string, error: unknown, trouble: Trouble]>([
    ['a refused connection', Object.assign(new Error(), { code: 'ECONNREFUSED', syscall: 'connect' }), 'away'],
    ['all addresses refused', new AggregateError([Object.assign(new Error(), { code: 'ECONNREFUSED' })]), 'away'],
    ['a name that is not known', Object.assign(new Error(), { code: 'EAI_AGAIN', syscall: 'getaddrinfo' }), 'away'],
    ['a broken pipe', Object.assign(new Error(), { code: 'EPIPE', syscall: 'write' }), 'away'],
    ['an expired certificate', Object.assign(new Error(), { code: 'CERT_HAS_EXPIRED' }), 'away'],
    ['the driver’s own', new Error('Connection terminated unexpectedly'), 'away'],
    ['no answer', new Error('Query read timeout'), 'away'],
    ['a mistake of ours', new TypeError('undefined is not a function'), 'other'],
    ['no error at all', undefined, 'other'],
    ['a text', 'away', 'other'],
  ])('%s', (_what, error, trouble) => expect(troubleOf(error)).toBe(trouble));
});
