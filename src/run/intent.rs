//! What the words of the user mean for a layout.

use crate::cli::{
    BootChoice, FatArea as TypedFatArea, IntentArgs, Purpose as TypedPurpose,
    TableChoice as TypedTable,
};
use crate::error::Error;
use crate::plan::filesystem::FatAreaChoice;
use crate::plan::filesystem::advice::Purpose;
use crate::plan::intent::{Intent, KeepOut, PartitionIntent, PartitionSize, TableChoice};
use crate::plan::{Board, PlanError, TableKind};

/// The intent behind the options of a command.
///
/// # Errors
/// An option that makes no sense whatever the device: exit code 2.
pub fn intent(typed: &IntentArgs, command: &str) -> Result<Intent, Error> {
    let help = format!("see: flashfit {command} --help");
    let usage = |error: String| Error::usage(error).hint(help.clone());
    let mut partitions = Vec::new();
    for spec in &typed.partitions {
        partitions.push(spec.parse().map_err(|error| usage(one_line(&error)))?);
    }
    if let Some(fs) = &typed.fs {
        let filesystem = fs.parse().map_err(usage)?;
        partitions = vec![PartitionIntent::new(PartitionSize::Rest, filesystem)];
    }
    let disk_id = typed
        .disk_id
        .parse()
        .map_err(|error| usage(one_line(&error)))?;
    Ok(Intent {
        table: match typed.table {
            TypedTable::Auto => TableChoice::Auto,
            TypedTable::Mbr => TableChoice::Kind(TableKind::Mbr),
            TypedTable::Gpt => TableChoice::Kind(TableKind::Gpt),
        },
        partitions,
        align: typed.align,
        phase: None,
        keep_out: typed
            .keep_out
            .iter()
            .map(|range| KeepOut {
                from: range.from,
                to: range.to,
                owner: None,
            })
            .collect(),
        reserve_end: typed.reserve_end,
        max_size: typed.max_size,
        boot: board(typed.boot),
        disk_id,
        id_seed: typed.id_seed.clone(),
        fat_area: match typed.fat_area {
            TypedFatArea::Auto => FatAreaChoice::Auto,
            TypedFatArea::Use => FatAreaChoice::Use,
            TypedFatArea::Ignore => FatAreaChoice::Ignore,
        },
        purpose: typed.purpose.map(|purpose| match purpose {
            TypedPurpose::Camera => Purpose::Camera,
            TypedPurpose::Data => Purpose::Data,
            TypedPurpose::LinuxRoot => Purpose::LinuxRoot,
            TypedPurpose::Boot => Purpose::Boot,
        }),
    })
}

const fn board(typed: BootChoice) -> Board {
    match typed {
        BootChoice::Generic => Board::Generic,
        BootChoice::RaspberryPi => Board::RaspberryPi,
        BootChoice::RaspberryPi4 => Board::RaspberryPi4,
        BootChoice::Allwinner => Board::Allwinner,
        BootChoice::Rockchip => Board::Rockchip,
        BootChoice::Imx6 => Board::Imx6,
        BootChoice::Imx8 => Board::Imx8,
        BootChoice::Am335x => Board::Am335x,
    }
}

fn one_line(error: &impl std::fmt::Display) -> String {
    error.to_string()
}

/// The exit code of a layout that cannot be made: 2 when an option is wrong for this device, 1 when
/// the device does not have what is asked for.
pub fn of_plan(error: &PlanError) -> Error {
    match error {
        PlanError::CapacityUnknown
        | PlanError::NoRoom { .. }
        | PlanError::OptionLeavesNoRoom { .. }
        | PlanError::DoesNotFit { .. }
        | PlanError::Inconsistent(_) => Error::failed(error.to_string()),
        PlanError::Intent(_)
        | PlanError::ZeroEraseBlock
        | PlanError::PhaseOffBlock { .. }
        | PlanError::AlignOffBlock { .. }
        | PlanError::NoCommonGrid { .. }
        | PlanError::BeyondMbr { .. }
        | PlanError::TooMany { .. }
        | PlanError::BoardRefusesTable { .. }
        | PlanError::BoardWantsFirst { .. }
        | PlanError::KeepOutOverTable { .. }
        | PlanError::KeepOutBeyondEnd { .. }
        | PlanError::FileSystem { .. }
        | PlanError::WrongDiskId { .. } => Error::usage(error.to_string()),
    }
}
