//! Making a test of every promise.

/// Stamps the promises of teams and messages onto a place of teams: given a function that returns a fresh
/// [`crate::OpenedTeams`], it makes one test of every promise.
#[macro_export]
macro_rules! team_suite {
    ($factory:expr) => {
        fn open_teams_for_suite() -> $crate::OpenedTeams {
            $factory()
        }
        $crate::team_tests! { rosters
            a_team_that_was_made_is_there_for_everybody
            two_names_with_one_directory_are_one_team
            a_team_that_is_not_there_is_refused_with_those_there_are
            a_member_that_joins_again_keeps_its_seat_and_its_colour
            a_member_is_taken_out_once
            a_removed_team_is_gone
        }
        $crate::team_tests! { messages
            messages_come_in_the_order_in_which_they_were_sent
            an_unknown_recipient_is_refused_and_nothing_is_sent
            a_message_to_a_removed_team_is_refused
            what_is_not_acknowledged_comes_again
            what_is_acknowledged_never_comes_again
            acknowledging_nothing_changes_nothing
            a_sender_sees_how_far_its_messages_came
            a_team_made_anew_begins_with_empty_mailboxes
            what_comes_for_a_lead_is_noticed_however_often_it_was_looked_at
        }
        $crate::team_tests! { seats
            the_agent_that_made_a_team_leads_it_under_its_own_name
            the_seat_of_a_living_member_is_not_taken
            the_seat_of_a_dead_member_is_free
            a_plan_goes_with_its_seat
            what_is_left_of_a_seat_nobody_has_counts_for_nobody
            a_seat_is_remembered_to_the_letter
            a_team_made_anew_begins_without_seats
        }
        $crate::team_tests! { contention
            of_those_who_make_one_team_one_does
            those_who_join_at_once_are_all_in_it_in_colours_of_their_own
            of_those_who_join_under_one_name_one_gets_the_seat
            of_those_who_take_out_a_member_one_does
            a_message_is_taken_once_however_many_acknowledge_it
            what_many_send_at_once_arrives_once_and_in_order
            changes_of_one_seat_at_once_all_count
        }
        $crate::team_tests! { following
            a_follower_misses_no_message
            an_agent_that_joins_later_is_told_from_then_on
            a_dropped_listener_hears_no_more
            others_come_to_be_followed
            a_follower_begins_where_it_says
            a_panicking_listener_is_called_again
        }
    };
}

/// Makes tests of the promises of one file of the suite; for [`crate::team_suite!`].
#[macro_export]
macro_rules! team_tests {
    ($file:ident $($promise:ident)*) => {
        $(
            #[test]
            fn $promise() {
                $crate::team_suite::$file::$promise(&open_teams_for_suite);
            }
        )*
    };
}
